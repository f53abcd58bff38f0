"""`alma.testing`: names of the package `alma-testing`, which `alma-core[testing]` installs."""

from typing import TYPE_CHECKING

from alma.extensions import forwarding

if TYPE_CHECKING:  # classes to inherit from, so their types matter
    from alma_testing import CandidateSearchContract as CandidateSearchContract
    from alma_testing import EmbedderContract as EmbedderContract
    from alma_testing import FileStoreContract as FileStoreContract
    from alma_testing import FixedClock as FixedClock
    from alma_testing import IntegrationContract as IntegrationContract
    from alma_testing import MockEmbedder as MockEmbedder
    from alma_testing import MockStorage as MockStorage
    from alma_testing import PortableContract as PortableContract
    from alma_testing import ReembeddableContract as ReembeddableContract
    from alma_testing import SteppingClock as SteppingClock
    from alma_testing import StoreContract as StoreContract
    from alma_testing import TextScoresContract as TextScoresContract
    from alma_testing import VectorIndexContract as VectorIndexContract
    from alma_testing import assert_never_recalls as assert_never_recalls
    from alma_testing import assert_recalls as assert_recalls
    from alma_testing import make_anti_pattern as make_anti_pattern
    from alma_testing import make_domain_knowledge as make_domain_knowledge
    from alma_testing import make_heuristic as make_heuristic
    from alma_testing import make_outcome as make_outcome
    from alma_testing import make_slice as make_slice
    from alma_testing import make_user_preference as make_user_preference
    from alma_testing import make_vector_changes as make_vector_changes

__getattr__ = forwarding("alma.testing", "alma_testing", extra="testing", what="test support is")
