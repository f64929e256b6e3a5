set(SOURCES)
set(TESTS)
