From proofs Require sums.
From proofs Require foundations.
From proofs Require dmfa_srq.
From proofs Require cbdrf.
From proofs Require inhabited.
Print Assumptions foundations.certified_fair.
Print Assumptions foundations.fair_leximin.
Print Assumptions foundations.filling.
Print Assumptions foundations.leximin_certified.
Print Assumptions foundations.sharing_incentive.
Print Assumptions foundations.envy_freeness.
Print Assumptions foundations.pareto_optimality.
Print Assumptions foundations.strategy_proofness.
Print Assumptions dmfa_srq.level_is_largest.
Print Assumptions dmfa_srq.sorted_by_arrival.
Print Assumptions dmfa_srq.nothing_gained_since.
Print Assumptions dmfa_srq.program_fits.
Print Assumptions dmfa_srq.sharing_incentive.
Print Assumptions dmfa_srq.positive.
Print Assumptions dmfa_srq.binding.
Print Assumptions dmfa_srq.one_solution.
Print Assumptions dmfa_srq.largest_exists.
Print Assumptions dmfa_srq.pareto_optimality.
Print Assumptions dmfa_srq.envy.
Print Assumptions dmfa_srq.nobody_less.
Print Assumptions dmfa_srq.others_have_no_less.
Print Assumptions dmfa_srq.lie_or_come_late.
Print Assumptions dmfa_srq.first_gains_alone.
Print Assumptions cbdrf.grants_exist.
Print Assumptions cbdrf.capped_punished.
Print Assumptions cbdrf.scaled_by_record.
Print Assumptions cbdrf.punished_gets_less.
Print Assumptions cbdrf.no_envy.
Print Assumptions cbdrf.no_lie_pays.
Print Assumptions cbdrf.scaled_efficient.
Print Assumptions cbdrf.scaled_uses_less.
Print Assumptions cbdrf.weighted_by_record.
Print Assumptions cbdrf.weighted_efficient.
Print Assumptions cbdrf.weighted_efficient_positive.
Print Assumptions cbdrf.capped_efficient_within_caps.
Print Assumptions cbdrf.capped_clean.
Print Assumptions cbdrf.capped_good_at_least_drf.
Print Assumptions cbdrf.capped_efficient.
Print Assumptions cbdrf.more_weight.
Print Assumptions cbdrf.more_record.
Print Assumptions cbdrf.compliance_keeps_credit.
Print Assumptions cbdrf.complying_raises.
Print Assumptions cbdrf.always_complying.
Print Assumptions cbdrf.no_claims_pay_1.
Print Assumptions cbdrf.no_claims_pay_2.
