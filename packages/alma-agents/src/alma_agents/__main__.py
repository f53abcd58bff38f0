"""`python -m alma_agents`: the hook and the learner, without the command line."""

import sys

from alma_agents.hook import main

main(sys.argv[1:])
