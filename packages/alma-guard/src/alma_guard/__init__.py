"""Guards texts that an agent stores or shows: replaces secrets and personal data, and finds orders to a model. Pure: texts in, texts out."""

from alma_guard.orders import DOUBTS as DOUBTS
from alma_guard.orders import doubted_together as doubted_together
from alma_guard.orders import reason_to_doubt as reason_to_doubt
from alma_guard.redactor import Redactor as Redactor
from alma_guard.redactor import kind_of_placeholder as kind_of_placeholder
from alma_guard.redactor import placeholders_in as placeholders_in
