set(SOURCES nsys_report.cc nsys_report_format.cc)
set(TESTS nsys_report_test.cc)
