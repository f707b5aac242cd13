"""The closed list of reason codes, each with what it means."""

from __future__ import annotations

from functools import cache

from kvforensics.knowledge import patterns

OWN = {
    "not_a_pool_input": "the pool rule does not read the setting",
    "took_no_part": "the pool moved for another setting or reason; this one is no input of it",
    "not_a_memory_setting": "no rule ties the setting to pool, admission, concurrency or memory",
    "nothing_moved": "nothing that the setting could act on moved",
    "no_effect_seen": "the rule lets the setting move the pool, and the pool did not move",
    "within_noise": "the expected or seen move is smaller than what identical launches differ by",
    "masked_by_pool": "the pool, and not the setting, is the limit before and after",
    "masked_by_max_total_tokens": "a binding max_total_tokens hides the setting's effect",
    "masked_by_memory": "memory, and not the setting, is the limit before and after",
    "moved_pool": "the pool moved as the setting's rule says",
    "moved_longest_prompt": "admission moved as the setting's rule says",
    "moved_max_running_requests": "concurrency moved as the setting's rule says",
    "moved_headroom": "the memory left free moved as the setting's rule says",
    "start_recovered": "the failed start before is cured: the setting is back, and its failure named it",
    "clamped_to_profiled": "the engine cut the cap to the pool that memory allows",
    "clamped_by_model_limit": "the model's own context limit is lower",
    "overridden_by_engine": "the engine replaced the value",
    "overridden_by_later_flag": "another place that wins over this one gave another value",
    "moved_against_its_purpose": "more was asked and less given, or the other way round",
    "start_failed_for_memory": "the start failed for memory, and the setting takes memory",
    "start_refused_setting": "the start failed over this very setting",
    "headroom_lost_then_oom": "the setting takes headroom, and the launch ran out of GPU memory",
    "several_inputs_changed": "two or more changed settings could each explain the pool",
    "headroom_shared": "two or more changed settings could each explain the memory left free",
    "rule_leaves_remainder": "the pool moved by clearly more or less than the rule gives for the setting",
    "free_memory_differs": "the memory free before loading explains the pool",
    "version_changed": "another release has another pool rule",
    "derived_from_another_setting": "the engine computed the value from another setting, which is judged",
    "judged_with_switch": "edited together with the feature's switch, which is judged",
    "fraction_may_be_derived": "whether the memory fraction was given or computed from this is not known",
    "pool_not_logged": "a launch of the pair logged no pool",
    "figure_not_logged": "the figure that the setting acts on was not logged in both launches",
    "never_became_ready": "the launch never became ready in this log",
    "not_enough_to_start": "the change goes the way that the failure asks for, and does not go far enough",
    "start_failed_for_another_cause": "the start failed, and not over this setting",
    "reverted_before_it_ran": "the value is back at the last good launch's; the failed start proves nothing",
    "no_good_launch_before": "no launch before has the figures to measure against",
    "config_truncated": "the settings of a launch are cut off in the log",
}


@cache
def reason_codes() -> dict[str, str]:
    """Return every reason code with its meaning: this module's, and those of the no-op patterns."""
    found = {p.code: p.why for p in patterns()}
    return dict(sorted((found | OWN).items()))
