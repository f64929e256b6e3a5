#include "orrery/api/fields.h"

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/api/simulate.h"
#include "orrery/base/document/value.h"

namespace orrery::api {

struct Wheel {
  double radius_m = 0;
  std::string name = {};
};

struct Cart {
  std::vector<Wheel> wheels = {};
  std::optional<std::int64_t> load = {};
  std::string colour = "red";
  int seats = 1;
  bool is_open = false;
  std::vector<std::string> riders = {};
  double speed = 1;
};

template <>
struct FieldList<Wheel> {
  static std::span<const Field<Wheel>> Get();
};

template <>
struct FieldList<Cart> {
  static std::span<const Field<Cart>> Get();
};

namespace {

constexpr auto kColours = std::to_array<std::string_view>({"blue", "red"});

constexpr auto kWheel = std::to_array<Field<Wheel>>({
    MakeField<&Wheel::radius_m>("radius_m", "m", "radius"),
    MakeField<&Wheel::name>("name", "", "name").IfAny(),
});

constexpr auto kCart = std::to_array<Field<Cart>>({
    MakeField<&Cart::wheels>("wheels", "", "its wheels"),
    MakeField<&Cart::load>("load", "kg", "load").IfKnown(),
    MakeField<&Cart::colour>("colour", "", "colour").Choices(kColours),
    MakeField<&Cart::seats>("seats", "", "seats").Range(1, 8),
    MakeField<&Cart::is_open>("is_open", "", "without a roof"),
    MakeField<&Cart::riders>("riders", "", "names"),
    MakeField<&Cart::speed>("speed", "m/s", "speed"),
});

// Reads a request and returns it, or the error.
std::string Read(const Value& object, Cart& cart) {
  const Result<Cart> read = FromValue<Cart>(object);
  if (read) {
    cart = *read;
  }
  return read ? "" : read.error().message();
}

}  // namespace

ORRERY_SET_FIELDS(Wheel, kWheel)
ORRERY_SET_FIELDS(Cart, kCart)

namespace {

TEST(FieldsTest, AnObjectHasItsFieldsInTheOrderOfTheList) {
  const Value data = ToObject(Cart{.wheels = {{0.5, "left"}, {0.5, ""}}});

  ASSERT_EQ(data.fields().size(), 6U);  // without the load, which is not known
  EXPECT_EQ(data.fields()[0].first, "wheels");
  EXPECT_EQ(data.fields()[1].first, "colour");
  const Value& wheels = *data.Find("wheels");
  EXPECT_EQ(*wheels.items()[0].Find("name"), Value("left"));
  EXPECT_EQ(wheels.items()[1].Find("name"), nullptr);
}

TEST(FieldsTest, ARequestIsReadFromItsJson) {
  Value riders = Value::List();
  riders.Add("Ada").Add("Bob");
  Cart cart;

  EXPECT_EQ(Read(Value::Object()
                     .Set("colour", "blue")
                     .Set("seats", 4.0)
                     .Set("is_open", true)
                     .Set("riders", riders)
                     .Set("speed", 3),
                 cart),
            "");
  EXPECT_EQ(cart.colour, "blue");
  EXPECT_EQ(cart.seats, 4);
  EXPECT_TRUE(cart.is_open);
  EXPECT_EQ(cart.riders, (std::vector<std::string>{"Ada", "Bob"}));
  EXPECT_EQ(cart.speed, 3.0);
}

TEST(FieldsTest, WrongValuesAreNamed) {
  Cart cart;
  EXPECT_EQ(Read(Value::Object().Set("colour", "green"), cart),
            "colour must be blue, red, not 'green'");
  EXPECT_EQ(Read(Value::Object().Set("seats", 9), cart), "seats: 9 is not between 1 and 8");
  EXPECT_EQ(Read(Value::Object().Set("seats", "two"), cart), "seats: an integer is expected");
  EXPECT_EQ(Read(Value::Object().Set("seats", 1.5), cart), "seats: an integer is expected");
  EXPECT_EQ(Read(Value::Object().Set("is_open", 1), cart), "is_open: true or false is expected");
  EXPECT_EQ(Read(Value::Object().Set("wheels", 1), cart), "wheels: it cannot be set");
  EXPECT_EQ(Read(Value::Object().Set("rider", "Ada"), cart),
            "there is no property 'rider'; did you mean 'riders'?");
  EXPECT_EQ(Read(Value(), cart), "a JSON object is expected");
}

TEST(FieldsTest, TheSchemaHasTypesUnitsChoicesAndRanges) {
  const Value schema = ObjectSchema<Cart>();
  const Value& properties = *schema.Find("properties");

  EXPECT_EQ(*properties.Find("seats")->Find("type"), Value("integer"));
  EXPECT_EQ(*properties.Find("seats")->Find("minimum"), Value(1.0));
  EXPECT_EQ(*properties.Find("speed")->Find("description"), Value("speed (m/s)"));
  EXPECT_EQ(properties.Find("colour")->Find("enum")->items().size(), 2U);
  const Value& wheel = *properties.Find("wheels")->Find("items");
  EXPECT_EQ(*wheel.Find("properties")->Find("radius_m")->Find("type"), Value("number"));
  EXPECT_EQ(properties.Find("load")->Find("type")->items().size(), 2U);  // or null
  EXPECT_EQ(schema.Find("required")->items().size(), 6U);
}

// Names of a list, each once; a doc for each.
template <typename T>
void ExpectSoundList() {
  std::set<std::string_view> names;
  for (const Field<T>& field : FieldList<T>::Get()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_FALSE(field.doc.empty()) << field.name;
    EXPECT_FALSE(field.doc.ends_with('.')) << field.name;
  }
}

TEST(FieldsTest, ListsOfSimulateNameEachFieldOnce) {
  ExpectSoundList<SimulateRequest>();
  ExpectSoundList<SimulateResult>();
  ExpectSoundList<SimulateTogetherResult>();
  ExpectSoundList<StepStage>();
}

// A new request written as JSON and read again is a new request.
TEST(FieldsTest, DefaultsOfSimulateAreInTheRequestAlone) {
  const Result<SimulateRequest> empty = FromValue<SimulateRequest>(Value::Object());
  ASSERT_TRUE(empty);
  EXPECT_EQ(ToObject(*empty), ToObject(SimulateRequest{}));
}

}  // namespace
}  // namespace orrery::api
