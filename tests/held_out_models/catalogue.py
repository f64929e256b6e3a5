"""All held-out models by name."""

import first_half
import second_half
import third_part

MODELS = {**first_half.MODELS, **second_half.MODELS, **third_part.MODELS}
