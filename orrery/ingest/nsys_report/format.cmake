set(SOURCES nsys_report.cc)
set(TESTS nsys_report_test.cc)
