#include "orrery/cli/search/search.h"
