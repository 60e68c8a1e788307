//! Every requirement of the seeds, and the test that shows it.

use std::fs;
use std::path::Path;

/// The seed, its row, what it asks for, and the function of the test.
type Row = (&'static str, &'static str, &'static str, &'static str);

const REQUIREMENTS: &[Row] = &[
    // 000: search with line numbers, verified line edits, no drift.
    (
        "000",
        "1 search",
        "paths, ids, counts and numbered lines, at most 20 a file and 200 characters a line",
        "seed_000_1_search_returns_paths_and_line_numbers_with_matches",
    ),
    (
        "000",
        "1 wildcard_search",
        "the same, ranked",
        "seed_000_1_wildcard_search_is_ranked_and_numbered_too",
    ),
    ("000", "1 context", "lines before and after a hit", "context_encodings_and_globs"),
    (
        "000",
        "1 numbers",
        "a line has one number in search, read and edit",
        "a_line_has_one_number_in_search_read_and_edit",
    ),
    (
        "000",
        "2 verification",
        "old lines, new lines, context, change of the count",
        "seed_000_2_edit_lines_answers_with_every_field_of_the_verification",
    ),
    (
        "000",
        "2 every form",
        "the same at both ends of a file, for insertions and deletions",
        "seed_000_2_verification_holds_at_both_ends_and_for_every_form",
    ),
    (
        "000",
        "3 summary",
        "what was replaced and how long the file is",
        "seed_000_3_the_summary_says_what_was_replaced_and_how_long_the_file_is",
    ),
    (
        "000",
        "4 guidance",
        "the prompts tell how to edit safely",
        "seed_000_4_the_prompts_guide_safe_editing",
    ),
    (
        "000",
        "5 descriptions",
        "the tools say that hits are numbered",
        "seed_000_5_the_tools_say_that_hits_are_numbered",
    ),
    (
        "000",
        "multi-edit drift",
        "several edits of a call are applied bottom up",
        "seed_000_scenario_several_edits_of_one_file_do_not_drift",
    ),
    (
        "000",
        "drift",
        "a number that an edit has moved is refused with both places and the snapshot",
        "seed_000_drift_a_number_that_an_edit_has_moved_is_refused_with_both_places",
    ),
    (
        "000",
        "drift in one turn",
        "the same for a client that sends several calls at once",
        "a_file_of_requests_never_hits_the_wrong_line",
    ),
    (
        "000",
        "corruption is seen",
        "a corrupted place is read again and corrected",
        "seed_000_scenario_a_corrupted_place_is_read_again_and_corrected",
    ),
    (
        "000",
        "ranges",
        "a range outside the file is refused with its length",
        "out_of_range_and_inverted_ranges_are_refused_with_the_length",
    ),
    (
        "000",
        "default tools",
        "what search shows can be used in a tool that is offered",
        "seed_000_default_tools_take_what_search_shows",
    ),
    (
        "000",
        "default tools: dialects",
        "nothing is promised that is not offered",
        "seed_000_default_tools_of_other_dialects_are_not_promised_anchors",
    ),
    (
        "000",
        "default tools: place",
        "edit_file takes lines or anchors as its place",
        "seed_000_default_tools_edit_file_takes_lines_or_anchors_as_its_place",
    ),
    // 001: explore first, claim nothing false.
    (
        "001",
        "1 exploration",
        "demanded at the start of every request",
        "step_1_exploration_is_demanded_on_every_request",
    ),
    (
        "001",
        "1 edits",
        "no edit before something was read",
        "a_guarded_mcp_session_is_told_to_explore_and_sent_back_without_a_change",
    ),
    (
        "001",
        "2 completion",
        "blocked without exploration",
        "step_2_task_complete_is_blocked_without_exploration",
    ),
    (
        "001",
        "3 no keywords",
        "words without tools are sent back, whatever the request",
        "step_3_words_without_tools_are_sent_back",
    ),
    (
        "001",
        "4 threshold",
        "a run without a meaningful call fails with NO_TOOL_CALLS",
        "step_4_no_meaningful_call_is_an_error",
    ),
    (
        "001",
        "false claims",
        "refused however often",
        "seed_001_false_claims_are_refused_however_often",
    ),
    (
        "001",
        "false claims: files",
        "a file that was not changed is not claimed",
        "seed_001_false_claims_of_one_more_file_are_refused",
    ),
    (
        "001",
        "false claims: exit",
        "a run that only claims does not end with 0",
        "a_completion_without_a_change_is_sent_back_until_it_says_so",
    ),
    (
        "001",
        "no change",
        "a task that needs no change can be completed",
        "seed_001_a_task_without_a_change_is_complete_when_it_says_so",
    ),
    (
        "001",
        "outcome 4",
        "no `applied` without a visible change",
        "outcome_no_applied_without_visible_change",
    ),
    (
        "001",
        "loops",
        "the same failing call is not run again",
        "outcome_identical_failing_calls_do_not_loop",
    ),
    (
        "001",
        "refresh",
        "a preview hears of every commit",
        "resources_are_the_sessions_files_and_commits_of_others_are_announced",
    ),
    // 002: read again only what is affected.
    (
        "002",
        "1 range",
        "line 10 of 20 affects lines 2 to 18",
        "seed_002_affected_range_of_line_10_in_20_lines_is_2_to_18",
    ),
    (
        "002",
        "1 message",
        "the refusal names the lines to read again",
        "seed_002_1_affected_ranges_are_identified_on_a_mismatch",
    ),
    (
        "002",
        "2 union",
        "the ranges of all edits of a call are merged",
        "seed_002_2_and_4_the_ranges_of_all_edits_are_merged",
    ),
    (
        "002",
        "3 ranges",
        "read_file takes ranges",
        "seed_002_3_read_file_takes_ranges_and_merges_overlaps",
    ),
    ("002", "4 merge", "ranges that overlap or touch are one", "seed_002_overlapping_ranges_merge"),
    (
        "002",
        "6 compatibility",
        "unchanged lines go on working",
        "seed_002_6_unchanged_lines_keep_working_after_a_mismatch_elsewhere",
    ),
    (
        "002",
        "tokens",
        "about 120 tokens for one stale anchor",
        "seed_002_criterion_one_stale_anchor_of_1000_lines_costs_at_most_120_tokens",
    ),
    (
        "002",
        "recovery window",
        "the line is found where it has moved to",
        "p2_another_process_finds_the_line_by_the_history",
    ),
    (
        "002",
        "scale",
        "among many equal lines the right one or none",
        "among_5000_equal_lines_the_right_one_or_none_is_edited",
    ),
    // 003: the hashline tool.
    ("003", "example 1", "replace one line", "seed_003_example_single_line_replace"),
    ("003", "example 2", "replace a range", "seed_003_example_range_replace"),
    ("003", "example 3", "delete a line", "seed_003_example_delete_a_line"),
    ("003", "example 4", "insert after a line", "seed_003_example_insert_after_a_line"),
    (
        "003",
        "example 5",
        "lines past the end are not duplicated",
        "seed_003_example_bad_pattern_does_not_duplicate_the_brace",
    ),
    (
        "003",
        "snapshot",
        "all edits of a call speak of the original",
        "all_edits_of_a_call_speak_of_the_original",
    ),
    (
        "003",
        "overlap",
        "ranges must not overlap",
        "defect_11_a_replace_inside_anothers_range_is_refused",
    ),
    (
        "003",
        "ids",
        "two letters of the alphabet, as other implementations compute them",
        "all_208_vectors_of_the_wire_format",
    ),
    (
        "003",
        "ids copied",
        "an anchor copied with its content is taken",
        "copied_decorations_are_ignored",
    ),
    (
        "003",
        "ids guessed",
        "a malformed or wrong anchor is refused with the form",
        "malformed_anchors_are_refused_with_the_form",
    ),
    (
        "003",
        "lines",
        "a list, one string, or null",
        "a_string_is_split_and_a_final_newline_opens_no_line",
    ),
    ("003", "file modes", "create, delete and rename", "files_are_created_deleted_and_renamed"),
    (
        "003",
        "rename with edits",
        "the final content moves",
        "files_are_created_deleted_and_renamed",
    ),
    (
        "003",
        "no-ops",
        "a call that changes nothing is refused",
        "malformed_calls_are_refused_with_the_way_out",
    ),
    (
        "003",
        "description",
        "rules, examples and the bad pattern",
        "seed_003_the_prompt_has_the_rules_the_examples_and_the_bad_pattern",
    ),
    (
        "003",
        "merged lines",
        "split where the old lines stand in it and the parser agrees",
        "seed_003_merged_lines_are_split_around_the_old_lines_in_them",
    ),
    (
        "003",
        "merged lines: told",
        "else told",
        "seed_003_merged_lines_that_the_parser_takes_stay_and_are_told",
    ),
    ("003", "merged lines: escapes", "split at literal \\n", "seed_003_r1_merged_lines"),
    (
        "003",
        "indentation",
        "restored from the old lines",
        "seed_003_indentation_that_all_lines_lack_is_that_of_the_old_lines",
    ),
    (
        "003",
        "indentation: languages",
        "the same in other languages, with its proofs",
        "seed_003_r2_indentation_in_other_languages",
    ),
    ("003", "BOM and CRLF", "kept", "seed_003_bom_and_crlf_are_preserved"),
    (
        "003",
        "prefixes",
        "stripped; a line's own anchor is never content",
        "seed_003_prefixes_a_lines_own_anchor_is_never_content",
    ),
    (
        "003",
        "diff marks",
        "stripped, also of an append",
        "seed_003_diff_marks_on_every_line_of_an_append_are_dropped",
    ),
    (
        "003",
        "diff marks: text",
        "what may be text stays",
        "seed_003_diff_marks_that_may_be_text_stay",
    ),
    ("003", "echo lines", "stripped", "seed_003_echo_lines_that_stand_right_below_are_dropped"),
    (
        "003",
        "echo lines: anchor",
        "also of an append's anchor",
        "seed_003_echo_of_the_anchor_of_an_append_is_dropped",
    ),
    (
        "003",
        "echo lines: told",
        "one common line stays and is told",
        "seed_003_echo_of_one_common_line_stays_and_is_told",
    ),
    (
        "003",
        "recovery",
        "the tags of a mismatch can be used at once",
        "an_ambiguous_anchor_is_settled_by_the_snapshot_that_the_refusal_names",
    ),
    (
        "003",
        "fresh tags",
        "an answer to an edit carries the new tags",
        "every_successful_edit_carries_fresh_anchors_that_work_at_once",
    ),
    // 004: correction of old_str and new_str.
    ("004", "R1", "unescaping comes first, on both texts", "r1_programmatic_unescaping"),
    (
        "004",
        "R2",
        "a text that is nowhere is corrected by the model",
        "r2_an_old_str_that_is_nowhere_is_corrected_by_the_model",
    ),
    (
        "004",
        "R3",
        "new_str follows the correction",
        "r3_the_adjustment_follows_the_correction_and_is_checked",
    ),
    (
        "004",
        "R4",
        "surplus escapes of new_str are repaired",
        "r4_surplus_escapes_are_repaired_on_evidence_and_only_mechanically",
    ),
    ("004", "R5", "one plan over one version", "r5_the_result_is_one_plan_over_one_version"),
    ("004", "R6", "codes are specific", "r6_codes_are_specific"),
    (
        "004",
        "R6 failed correction",
        "the original error, with the attempt",
        "r6_a_failed_correction_returns_the_original_error_with_the_attempt",
    ),
    (
        "004",
        "R7",
        "the count is that of the corrected text",
        "r7_the_expected_count_is_that_of_the_corrected_text",
    ),
    (
        "004",
        "R7 mismatch",
        "too many places are a mismatch",
        "r7_a_corrected_text_that_occurs_too_often_is_a_mismatch",
    ),
    ("004", "R8", "what worked before works unchanged", "r8_what_worked_before_works_unchanged"),
    ("004", "R8 model", "a correct call asks no model", "r8_a_correct_call_asks_no_model"),
    (
        "004",
        "R9",
        "the second identical call costs no request",
        "r9_the_second_identical_call_costs_no_request",
    ),
    (
        "004",
        "RL1",
        "unescaping comes before any question",
        "rl1_unescaping_comes_before_any_question",
    ),
    ("004", "RL2", "no correction is a tool", "rl2_no_correction_is_a_tool"),
    (
        "004",
        "RL3",
        "a correction asks the agent's own model",
        "rl3_a_correction_asks_the_agents_own_model",
    ),
    (
        "004",
        "RL4",
        "no adjustment without a correction that differs",
        "rl4_no_adjustment_without_a_correction_that_differs",
    ),
    (
        "004",
        "RL5",
        "the prompt demands an exact, literal, unique match",
        "rl5_the_prompt_demands_an_exact_literal_unique_match_and_empty_means_none",
    ),
    ("004", "example 2", "quotes and semicolons need no model", "example_2_needs_no_model"),
    (
        "004",
        "edge cases",
        "several lines, long texts, creation, empty files",
        "testing_considerations_edges",
    ),
    (
        "004",
        "prompt size",
        "a large file costs a small part of its size",
        "a_large_file_costs_a_small_part_of_its_size",
    ),
];

/// The text of every source and test below a folder.
fn sources(folder: &Path, out: &mut String) {
    for entry in fs::read_dir(folder).expect("folder") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push_str(&fs::read_to_string(&path).expect("text"));
        }
    }
}

#[test]
fn every_requirement_of_the_seeds_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    sources(&root.join("src"), &mut text);
    sources(&root.join("tests"), &mut text);
    for (seed, row, asks, test) in REQUIREMENTS {
        let at = text.find(&format!("fn {test}()"));
        let at = at.unwrap_or_else(|| panic!("{seed} {row} ({asks}): there is no test {test}"));
        let before = text[..at].trim_end_matches("async ").trim_end();
        let attribute = before.rsplit('\n').find(|line| !line.trim().starts_with("#[cfg"));
        let is_test = attribute.is_some_and(|line| line.trim().ends_with("test]"));
        assert!(is_test, "{seed} {row}: {test} is not run as a test");
    }
    println!("{} requirements, each with a test", REQUIREMENTS.len());
}
