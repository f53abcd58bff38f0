"""Language models, where one is wanted: any model as ALMA asks it, servers over HTTP, budgets, checked answers, and a guard on what they write."""

from alma_knowledge.llm.calling import Answer as Answer
from alma_knowledge.llm.calling import StructuredLLM as StructuredLLM
from alma_knowledge.llm.calling import as_llm as as_llm
from alma_knowledge.llm.errors import BudgetError as BudgetError
from alma_knowledge.llm.errors import LLMError as LLMError
from alma_knowledge.llm.guard import find_invented as find_invented
from alma_knowledge.llm.guard import find_lost as find_lost
from alma_knowledge.llm.metering import Budget as Budget
from alma_knowledge.llm.metering import MeteredLLM as MeteredLLM
from alma_knowledge.llm.metering import Usage as Usage
from alma_knowledge.llm.structured import ask_for as ask_for
from alma_knowledge.llm.structured import fence as fence
