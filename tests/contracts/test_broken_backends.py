"""The contracts notice what is broken: each of these backends breaks one promise, and the checks of that promise fail. Others still pass."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

BROKEN = Path(__file__).with_name("broken")
HISTORY = "test_any_history_gives_what_a_search_from_end_to_end_gives"
WHOLE = "test_a_search_meets_a_change_whole_or_not_at_all"

EMBEDDERS = {
    "WrongOrder": ["test_rows_stand_in_the_order_of_the_texts"],
    "NotNormalised": ["test_ordinary_texts_are_not_refused_and_have_length_one"],
    "DependsOnCompany": ["test_a_text_has_the_same_row_in_any_company"],
    "NotANumber": ["test_any_text_has_a_finite_row_of_length_one_or_is_refused"],
    "RaisesAnything": ["test_any_text_has_a_finite_row_of_length_one_or_is_refused"],
    "DoublePrecision": ["test_there_is_one_row_of_32_bit_floats_a_text", "test_no_texts_give_no_rows_of_the_right_width"],
    "NoWidthWithoutTexts": ["test_no_texts_give_no_rows_of_the_right_width"],
    "ForgetsRepeats": ["test_a_text_that_occurs_twice_has_two_equal_rows"],
    "SharesItsMemory": ["test_the_caller_may_change_the_rows"],
    "OneBufferForAllThreads": ["test_eight_threads_get_what_one_gets"],
    "SeededByChance": ["test_two_with_one_fingerprint_give_the_same_rows"],
    "AllAlike": ["test_different_texts_have_different_rows"],
}
INDEXES = {
    "IgnoresTombstones": [
        "test_removed_passages_are_never_found_again",
        "test_a_passage_both_added_and_removed_is_removed",
        HISTORY,
    ],
    "BreaksTiesByRow": ["test_equal_scores_are_ordered_by_tie_never_by_row"],
    "StarvesAPartition": ["test_a_small_partition_does_not_starve_beside_a_large_one", HISTORY],
    "SearchesEverywhere": ["test_only_the_partitions_asked_for_are_searched"],
    "ForgetsUpto": ["test_it_is_at_the_newest_change_even_if_that_held_nothing"],
    "TakesAnythingAgain": ["test_changes_at_or_before_where_it_is_are_ignored"],
    "WorstFirst": ["test_the_best_come_first_with_their_cosines", "test_equal_scores_are_ordered_by_tie_never_by_row"],
    "Approximate": ["test_the_best_come_first_with_their_cosines", HISTORY],
    "TakesHalf": ["test_changes_that_do_not_fit_are_refused_and_leave_no_half"],
    "ScoresByDistance": ["test_all_passages_of_given_memories_are_scored_as_a_search_scores_them"],
    "SamplesTheFirst": ["test_a_sample_of_many_are_those_with_the_smallest_ties"],
    "CountsPassages": ["test_a_sample_of_few_is_all_of_them"],
    "WritesInTwoGoes": [WHOLE],
}
STORES = {
    "LeavesHalfAWrite": [
        "test_an_exception_inside_undoes_all_of_it[ValueError]",
        "test_a_first_write_that_fails_leaves_a_project_that_reads_as_empty",
        "test_a_taken_id_is_a_conflict_and_nothing_of_the_write_stays",
    ],
    "LosesTheJournalOfUsage": [
        "test_what_a_write_did_lands_with_one_record_that_lists_it",
        "test_the_journal_tells_what_changed_a_memory_oldest_first",
    ],
    "LeaksVectorsOfAnotherProject": ["test_nothing_of_a_project_is_seen_in_another"],
    "FindsInTheOrderOfRows": [
        "test_places_come_in_the_order_of_the_ids_each_once",
    ],
    "LooksUpBesideItsWrites": ["test_a_write_sees_what_it_has_done_and_others_do_not"],
    "CountsUntilOneIsUnknown": ["test_nothing_is_counted_if_one_of_the_memories_is_unknown"],
    "FindsTheWordsOfAnotherProject": ["test_other_projects_are_not_searched"],
    "TakesAllWordsForEquallyRare": ["test_a_rare_word_tells_more_than_one_that_is_everywhere"],
    "ListsMatchesInAnotherOrder": ["test_every_memory_with_one_of_the_words_is_found_ascending"],
    "ForgetsKeywords": ["test_keywords_are_found_too"],
    "WantsAllWordsAtOnce": ["test_every_memory_with_one_of_the_words_is_found_ascending"],
    "SearchesAllPartitions": [
        "test_only_memories_of_the_partitions_are_found",
        "test_what_the_reader_does_not_see_moves_no_score",
    ],
    "CountsWhatTheReaderDoesNotSee": [
        "test_a_word_is_as_rare_as_it_is_among_the_memories_that_the_reader_sees",
        "test_what_the_reader_does_not_see_moves_no_score",
    ],
    "SearchesByEveryWord": [
        "test_a_common_word_is_left_out_where_a_rarer_one_occurs",
        "test_where_all_words_are_common_the_newest_memories_with_the_first_of_them_are_found",
    ],
    "SnapsPieceByPiece": ["test_a_snapshot_is_of_one_moment"],
    "ExportsOtherAgentsToo": [
        "test_a_snapshot_of_an_agent_has_its_memories_and_rules_and_no_others",
        "test_a_snapshot_of_an_agent_has_its_episodes_and_the_definitions_of_kinds",
    ],
    "LandsWritesOneByOne": [
        "test_all_writes_of_a_large_call_land_together",
        "test_an_exception_undoes_every_write_of_a_large_call[ValueError-between two]",
    ],
    "WritesOneRecordForAll": ["test_each_of_the_writes_of_a_large_call_has_a_record_of_its_own"],
    "ListsMemoriesOfAnotherProject": ["test_nothing_of_another_project_is_listed"],
    "ListsByRowNumber": ["test_memories_are_listed_by_the_time_they_were_made"],
    "SwitchesTooEarly": ["test_nothing_is_switched_while_a_vector_is_missing"],
    "ForgetsArchived": ["test_all_texts_are_missing_at_first_archived_ones_too"],
    "ReusesRowNumbers": ["test_row_numbers_are_never_used_twice"],
    "OverlooksPartitionsOfOthers": ["test_what_another_process_wrote_is_seen_at_once"],
    "CountsWithPartitionsReadBefore": ["test_a_reader_meets_a_write_whole_or_not_at_all_new_owners_too"],
    "RemembersItsHead": ["test_what_another_process_wrote_is_seen_at_once"],
    "RanksArchivedMemories": ["test_an_archived_memory_is_out_of_every_search_until_it_is_brought_back"],
    "DatesSmallRecordsByTheirWrite": ["test_a_small_record_that_came_to_be_before_its_write_counts_from_then"],
    "OverwritesSmallRecords": [
        "test_a_small_record_is_put_only_over_the_version_that_was_read",
        "test_a_small_record_that_another_process_changed_is_a_conflict",
    ],
    "ForgetsTombstones": ["test_any_history_gives_an_index_the_same_passages_at_once_or_bit_by_bit"],
    "ReadsInManyMoments": ["test_a_moment_stays_as_it_is_whatever_is_written_meanwhile"],
    "ReadsTheJournalPieceByPiece": ["test_what_is_written_during_a_reading_is_not_in_it[entries]"],
    "TakesRowsForTies": ["test_equal_contents_have_equal_hashes_and_ties_whoever_owns_them"],
    "PurgesNoJournal": [
        "test_the_journal_of_what_was_purged_keeps_its_chain_and_the_rest",
        "test_after_compacting_no_file_holds_what_was_purged",
    ],
    "AnswersWhenClosed": ["test_a_closed_store_refuses"],
    "NewIdEachTime": ["test_what_was_written_is_there_when_the_store_is_opened_again"],
    "CompactsNothing": ["test_after_compacting_no_file_holds_what_was_purged"],
}
FILES = {"embedders": EMBEDDERS, "vector_indexes": INDEXES, "stores": STORES}
KEPT = {
    "embedders": "test_rows_stand_in_the_order_of_the_texts",
    "vector_indexes": "test_a_passage_that_was_removed_can_come_back",
    "stores": "test_memories_of_every_kind_come_back_as_they_were",
}
"""A check that most of the broken ones pass, so that a failure is the promise's and not the harness's."""
KEPT_BY_OTHERS = {
    "WrongOrder": "test_there_is_one_row_of_32_bit_floats_a_text",
    "DependsOnCompany": "test_there_is_one_row_of_32_bit_floats_a_text",
    "AllAlike": "test_there_is_one_row_of_32_bit_floats_a_text",
    **dict.fromkeys(["SwitchesTooEarly", "ForgetsArchived"], "test_who_was_interrupted_goes_on"),
}

CASES = [(file, broken, checks) for file, cases in FILES.items() for broken, checks in cases.items()]


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], bool]:
    """Whether each check failed, by broken backend and check: one run for all of them."""
    folder = tmp_path_factory.mktemp("broken")
    chosen = [
        f"{BROKEN / file}.py::Test{broken}::{check}" for file, broken, checks in CASES for check in [*checks, kept(file, broken)]
    ]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--tb=line",
        "-p",
        "no:cacheprovider",
        f"--junit-xml={folder / 'report.xml'}",
    ]
    done = subprocess.run(
        [*command, f"--basetemp={folder / 'temp'}", *chosen], cwd=BROKEN.parents[2], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    cases = ElementTree.parse(folder / "report.xml").iter("testcase")
    assert "error" not in done.stdout.splitlines()[-1], done.stdout
    return {
        (case.attrib["classname"].rpartition(".Test")[2], case.attrib["name"]): case.find("failure") is not None for case in cases
    }


def kept(file: str, broken: str) -> str:
    return KEPT_BY_OTHERS.get(broken, KEPT[file])


@pytest.mark.slow
@pytest.mark.parametrize(("file", "broken", "checks"), CASES, ids=[broken for _, broken, _ in CASES])
def test_a_broken_backend_fails_the_checks_of_the_promise_that_it_breaks(
    failed: dict[tuple[str, str], bool], file: str, broken: str, checks: list[str]
) -> None:
    assert {check: failed[broken, check] for check in checks} == dict.fromkeys(checks, True)
    assert not failed[broken, kept(file, broken)]
