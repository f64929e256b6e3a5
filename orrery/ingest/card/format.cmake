set(SOURCES card.cc flatten_yaml.cc)
set(TESTS card_test.cc)
