(* cbDRF over many phases: when releasing is a best response. *)
From proofs Require Import sums cbdrf.
Local Open Scope R_scope.
Section release.
(* {model} *)
(* Credit is counted in parts of C_0, so it is the factor: its cap is 1, its floor 0, its steps are nu and sigma. With a
   clean record the node is granted x tasks in each phase; v is what a task held is worth more. *)
Variables (nu sigma rho v delta x : R).
Hypotheses (Nu : 0 < nu) (Sigma : 0 < sigma <= 1) (Rho : 0 <= rho <= 1) (V : 0 <= v) (Del : 0 <= delta < 1) (X : 0 < x).
(* A strategy gives the part eta that is released in each phase. At credit 0 nothing is granted, and the node complies. *)
Definition strategy (eta : nat -> R) := forall t, 0 <= eta t <= 1.
Definition complies c e := if Rlt_dec 0 (credit_factor 1 c) then if Rle_dec rho e then true else false else true.
Fixpoint credit_from c (eta : nat -> R) t := match t with O => c | S k =>
  next 1 0 nu sigma (complies (credit_from c eta k) (eta k)) (credit_from c eta k) end.
Definition payoff c e := credit_factor 1 c * x * (1 + v * (1 - e)).
(* what the first T phases are worth; as no payoff is negative, a strategy is worth the least bound of these numbers *)
Definition value T c eta := Σ t < T, delta ^ t * payoff (credit_from c eta t) (eta t).
Definition no_less c s s' := forall w, (forall T, value T c s <= w) -> forall T, value T c s' <= w.
Definition gains c s s' := exists w T, (forall U, value U c s <= w) /\ w < value T c s'.
Definition releasing (t : nat) := rho.
Definition failing_once (t : nat) := match t with O => 0 | _ => rho end.
Definition best_response := forall c s, 0 <= c <= 1 -> strategy s -> no_less c releasing s.
(* The penalty: only finitely many terms of the sum are not 0. *)
Definition penalty p := exists K, forall k, (K <= k)%nat -> (Σ i < k, delta ^ S i * Rmax 0 (sigma - INR i * nu)) = p.
(* {end} *)
Definition full := 1 + v * (1 - rho).
Lemma full_gt0 : 0 < full. Proof. unfold full. nra. Qed.
Lemma factor_of c : 0 <= c <= 1 -> credit_factor 1 c = c.
Proof. intros C. unfold credit_factor. rewrite Rmin_right; lra. Qed.
Lemma credit_in c s t : 0 <= c <= 1 -> 0 <= credit_from c s t <= 1.
Proof. intros C. induction t as [|t IH]; simpl; [auto|]. unfold next. destruct (complies _ _); minmax. Qed.
Lemma pow0 k : 0 <= delta ^ k. Proof. apply pow_le; lra. Qed.
Lemma steps k : 0 <= INR k * nu. Proof. apply Rmult_le_pos; [apply pos_INR|lra]. Qed.
(* What complying for ever is worth, per task: all but the tasks that are lost until the record is clean. *)
Definition lost K c := Σ k < K, delta ^ k * Rmax 0 (1 - c - INR k * nu).
Definition forever K c := full / (1 - delta) - full * lost K c.
Definition discounted K := Σ k < K, delta ^ k * Rmax 0 (sigma - INR k * nu).
Lemma forever_range K c : 0 <= c -> 0 <= forever K c <= full / (1 - delta).
Proof. intros C. pose proof full_gt0. assert (L : forall k, 0 <= lost k c /\ lost k c * (1 - delta) <= 1 - delta ^ k). {
  induction k as [|k [I J]]; [unfold lost; simpl; lra|]. unfold lost in *; simpl. pose proof (pow0 k). pose proof (steps
  k). set (a := Rmax 0 (1 - c - INR k * nu)). assert (A : 0 <= a <= 1) by (unfold a; minmax). assert (0 <= delta ^ k * a
  <= delta ^ k) by (split; [apply Rmult_le_pos|]; nra). split; nra. } specialize (L K). pose proof (pow0 K). unfold
  forever. assert (0 < / (1 - delta)) by (apply Rinv_0_lt_compat; lra). assert (lost K c <= / (1 - delta)) by (apply
  Rmult_le_reg_r with (1 - delta); [lra|rewrite Rinv_l; lra]). unfold Rdiv. split; nra. Qed.
Lemma forever_complying K c : 1 <= INR K * nu -> 0 <= c <= 1 -> forever K c = c * full + delta * forever K (Rmin 1 (c + nu)).
Proof. intros B C. assert (E : lost K c = 1 - c + delta * lost K (Rmin 1 (c + nu))). { transitivity (sum (1 + K) (fun k
  => delta ^ k * Rmax 0 (1 - c - INR k * nu))); [unfold lost; simpl; rewrite Rmax_left by lra; lra|]. rewrite sum_add.
  f_equal; [simpl; rewrite Rmax_right; lra|]. unfold lost. rewrite Rmult_comm, <- sum_mul. apply sum_ext. intros k _.
  cbn [Nat.add]. rewrite S_INR. pose proof (steps k). cbn [pow]. replace (Rmax 0 (1 - c - (INR k + 1) * nu)) with (Rmax
  0 (1 - Rmin 1 (c + nu) - INR k * nu)) by minmax. ring. } unfold forever. rewrite E. field; lra. Qed.
Lemma failing K c : 0 <= c <= 1 -> lost K (Rmin 1 (c + nu)) + c * discounted K <= lost K (Rmax 0 (c - sigma)) /\
  (c = 1 -> lost K (Rmin 1 (c + nu)) + discounted K = lost K (Rmax 0 (c - sigma))).
Proof. intros C. unfold lost, discounted. split; [rewrite (Rmult_comm c), <- sum_mul|intros E]; rewrite <- sum_plus;
  [apply sum_le|apply sum_ext]; intros k _; pose proof (steps k); set (b := INR k * nu) in *.
  - rewrite Rmult_assoc, <- Rmult_plus_distr_l. apply Rmult_le_compat_l; [apply pow0|]. set (a := Rmax 0 (sigma - b)).
    assert (A : 0 <= a <= 1) by (unfold a; clear - H Sigma; minmax). assert (Ca : 0 <= c * a /\ c * a <= a /\ c * a <=
    c) by (repeat split; nra). revert Ca. generalize (c * a). clear - A C H Sigma Nu. unfold a in *. intros y Y. minmax.
  - rewrite <- Rmult_plus_distr_l. f_equal. clear - E H Sigma Nu. minmax. Qed.
(* The penalty is that of K phases, for all large K. *)
Lemma enough p : penalty p -> exists K, 1 <= INR K * nu /\ delta * discounted K = p.
Proof. intros [K H]. destruct (archimed (/ nu)) as [Big _]. pose proof (Rinv_0_lt_compat nu Nu). set (z :=
  Rdefinitions.up (/ nu)) in *. exists (K + Z.to_nat z)%nat. split.
  - rewrite plus_INR, (INR_IZR_INZ (Z.to_nat z)), Z2Nat.id by (apply le_IZR; lra). pose proof (steps K). assert (/ nu *
    nu <= IZR z * nu) by (apply Rmult_le_compat_r; lra). rewrite Rinv_l in *; lra.
  - rewrite <- (H (K + Z.to_nat z)%nat ltac:(lia)), Rmult_comm. unfold discounted. rewrite <- sum_mul. apply sum_ext;
    intros k _. cbn [pow]. ring. Qed.
(* No phase is worth more than what complying is worth before it, less what it is worth after it. *)
Lemma one_phase K p c e : 1 <= INR K * nu -> delta * discounted K = p -> v * rho <= full * p -> 0 <= c <= 1 ->
  0 <= e <= 1 -> payoff c e + delta * (x * forever K (next 1 0 nu sigma (complies c e) c)) <= x * forever K c.
Proof. intros B P T C E. rewrite (forever_complying K c B C). destruct (failing K c C) as [L _]. unfold payoff, complies,
  next. rewrite factor_of by auto. rewrite (Rmult_comm c). pose proof full_gt0 as F. assert (D : c * (full * p) <= delta
  * (forever K (Rmin 1 (c + nu)) - forever K (Rmax 0 (c - sigma)))). { rewrite <- P. unfold forever. replace (c * (full *
  (delta * discounted K))) with (delta * (full * (c * discounted K))) by ring. apply Rmult_le_compat_l; [lra|]. assert
  (0 <= full * (lost K (Rmax 0 (c - sigma)) - (lost K (Rmin 1 (c + nu)) + c * discounted K))) by (apply Rmult_le_pos;
  lra). lra. } assert (0 <= v * e) by (apply Rmult_le_pos; lra). rewrite Rmult_assoc, (Rmult_comm delta), Rmult_assoc,
  <- Rmult_plus_distr_l. apply Rmult_le_compat_l; [lra|]. destruct (Rlt_dec 0 c) as [G|Z]; [|replace c with 0 by lra;
  lra]. assert (c * (v * rho) <= c * (full * p)) by (apply Rmult_le_compat_l; lra). assert (0 <= c * (v * e)) by (apply
  Rmult_le_pos; lra). unfold full in *. destruct (Rle_dec rho e) as [Ok|No]; [|lra]. assert (c * (v * rho) <= c * (v *
  e)); [|lra]. apply Rmult_le_compat_l, Rmult_le_compat_l; lra. Qed.
Lemma complying K c s t : 1 <= INR K * nu -> 0 <= c <= 1 -> s t = rho -> payoff (credit_from c s t) (s t) + delta * (x *
  forever K (credit_from c s (S t))) = x * forever K (credit_from c s t).
Proof. intros B C E. pose proof (credit_in c s t C) as Ct. simpl. set (q := credit_from c s t) in *. rewrite
  (forever_complying K q B Ct), E. unfold payoff, complies, next. rewrite factor_of by auto. destruct (Rle_dec rho rho);
  [|lra]. destruct (Rlt_dec 0 q); unfold full; ring. Qed.
Lemma complying_from K c T : 1 <= INR K * nu -> 0 <= c <= 1 ->
  value T c releasing + delta ^ T * (x * forever K (credit_from c releasing T)) = x * forever K c.
Proof. intros B C. induction T as [|T IH]; [unfold value; simpl; lra|]. rewrite <- IH. unfold value; cbn [sum pow].
  rewrite <- (complying K c releasing T B C eq_refl). ring. Qed.
Lemma vanishes B e : 0 < e -> 0 <= B -> exists T, delta ^ T * B < e.
Proof. intros E B0. destruct (pow_lt_1_zero delta ltac:(rewrite Rabs_right; lra) (e / (B + 1)) ltac:(apply
  Rdiv_lt_0_compat; lra)) as [T H]. exists T. specialize (H T (le_n T)). pose proof (pow0 T). rewrite Rabs_right in H by
  lra. apply Rmult_lt_compat_r with (r := B + 1) in H; [|lra]. replace (e / (B + 1) * (B + 1)) with e in H by (field;
  lra). nra. Qed.
(* {thm-cbdrf-release} If the threshold fails, a node in good standing gains by failing once. *)
Theorem failing_once_pays p : penalty p -> ~ v * rho <= (1 + v * (1 - rho)) * p -> gains 1 releasing failing_once.
Proof. intros Pen T. destruct (enough p Pen) as [K [B P]]. assert (C : 0 <= 1 <= 1) by lra. pose proof full_gt0 as F.
  assert (P0 : 0 <= discounted K) by (apply sum_ge0; intros k _; apply Rmult_le_pos; [apply pow0|apply Rmax_l]). assert
  (Pp : 0 <= full * p) by (rewrite <- P; repeat apply Rmult_le_pos; lra). assert (Rp : 0 < rho) by (destruct (proj1 Rho)
  as [|Z]; [auto|exfalso; apply T; unfold full in *; rewrite <- Z in *; lra]). set (gap := x * (v * rho - full * p)).
  assert (G : 0 < gap) by (apply Rmult_lt_0_compat; unfold full in *; lra). assert (R : forall t, value (S t) 1
  failing_once + delta ^ S t * (x * forever K (credit_from 1 failing_once (S t))) = x * forever K 1 + gap). { induction t as
  [|t IH].
    - unfold value, payoff, gap. simpl. unfold complies. rewrite factor_of by auto. destruct (Rlt_dec 0 1), (Rle_dec rho
      0); try lra. unfold next. destruct (failing K 1 C) as [_ Eq]. specialize (Eq eq_refl). rewrite (forever_complying K
      1 B C), <- P. unfold forever. rewrite <- Eq. unfold full. ring.
    - rewrite <- IH. unfold value. remember (S t) as q eqn:Eq. cbn [sum pow]. rewrite <- (complying K 1 failing_once q B
      C) by (rewrite Eq; auto). ring. } assert (M0 : 0 <= full / (1 - delta)) by (apply Rmult_le_pos; [lra|apply Rlt_le,
      Rinv_0_lt_compat; lra]). destruct (vanishes (x * (full / (1 - delta))) gap G ltac:(apply Rmult_le_pos; lra)) as [t
      Ht]. exists (x * forever K 1), (S t). split.
  - intros U. rewrite <- (complying_from K 1 U B C). pose proof (credit_in 1 releasing U C) as Cu. destruct (forever_range
    K _ (proj1 Cu)). assert (0 <= delta ^ U * (x * forever K (credit_from 1 releasing U))); [|lra]. apply Rmult_le_pos;
    [apply pow0|apply Rmult_le_pos; lra].
  - specialize (R t). destruct (forever_range K _ (proj1 (credit_in 1 failing_once (S t) C))) as [W0 W1]. assert (delta ^
    S t * (x * forever K (credit_from 1 failing_once (S t))) <= delta ^ t * (x * (full / (1 - delta)))); [|lra]. pose
    proof (pow0 t). apply Rmult_le_compat; [apply pow0|apply Rmult_le_pos; lra|cbn [pow]; nra|apply Rmult_le_compat_l;
    lra]. Qed.
(* {thm-cbdrf-release} *)
Theorem when_releasing_pays p : penalty p -> (best_response <-> v * rho <= (1 + v * (1 - rho)) * p).
Proof. intros Pen. split.
  - intros Br. suppose Bad. destruct (failing_once_pays p Pen ltac:(lra)) as [w [T [H L]]]. specialize (Br 1
    failing_once ltac:(lra) ltac:(intros [|t]; unfold failing_once; lra) w H T). lra.
  - intros T c s C St w H t. destruct (enough p Pen) as [K [B P]]. assert (Q : value t c s + delta ^ t * (x * forever K
    (credit_from c s t)) <= x * forever K c). { induction t as [|t IH]; [unfold value; simpl; lra|]. apply Rle_trans with
    (2 := IH). unfold value. simpl. pose proof (one_phase K p (credit_from c s t) (s t) B P T (credit_in c s t C) (St
    t)). pose proof (pow0 t). nra. } destruct (forever_range K _ (proj1 (credit_in c s t C))) as [W0 _]. pose proof (pow0
    t). suppose Bad. assert (0 <= delta ^ t * (x * forever K (credit_from c s t))) by (apply Rmult_le_pos; [auto|apply
    Rmult_le_pos; lra]). pose proof full_gt0. assert (M0 : 0 <= full / (1 - delta)) by (apply Rmult_le_pos; [lra|apply
    Rlt_le, Rinv_0_lt_compat; lra]). destruct (vanishes (x * (full / (1 - delta))) (x * forever K c - w) ltac:(lra)
    ltac:(apply Rmult_le_pos; lra)) as [U Hu]. specialize (H U). pose proof (complying_from K c U B C). destruct
    (forever_range K _ (proj1 (credit_in c releasing U C))) as [_ W1]. assert (delta ^ U * (x * forever K (credit_from c
    releasing U)) <= delta ^ U * (x * (full / (1 - delta)))); [|lra]. apply Rmult_le_compat_l; [apply pow0|apply
    Rmult_le_compat_l; lra]. Qed.
(* {thm-cbdrf-release} Releasing more than rho never gains anything: t releases less in each phase, but complies in the
   same ones. *)
Theorem no_more_than_rho s t T c : (forall k, t k <= s k /\ (rho <= s k -> rho <= t k)) -> 0 <= c <= 1 ->
  credit_from c t T = credit_from c s T /\ value T c s <= value T c t.
Proof. intros Le C. assert (E : forall k, credit_from c t k = credit_from c s k). { induction k as [|k IH]; simpl;
  [auto|]. rewrite IH. f_equal. unfold complies. destruct (Le k) as [L Sa]. destruct (Rlt_dec _ _); auto. destruct
  (Rle_dec rho (t k)), (Rle_dec rho (s k)); auto; exfalso; solve [lra|tauto]. } split; [auto|]. apply sum_le; intros k
  _. rewrite E. apply Rmult_le_compat_l; [apply pow0|]. pose proof (credit_in c s k C). unfold payoff. rewrite factor_of
  by auto. destruct (Le k) as [L _]. apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|]. nra. Qed.
End release.
(* {thm-cbdrf-release} The threshold as a bound on v *)
Theorem threshold rho p : (rho <= (1 - rho) * p -> forall v, 0 <= v -> 0 <= p -> v * rho <= (1 + v * (1 - rho)) * p) /\
  ((1 - rho) * p < rho -> forall v, v * rho <= (1 + v * (1 - rho)) * p <-> v <= p / (rho - (1 - rho) * p)).
Proof. split; [intros; nra|]. intros H v. set (q := rho - (1 - rho) * p). assert (Q : 0 < q) by (unfold q; lra). assert
  (E : p / q * q = p) by (field; lra). split; intros L; [apply Rmult_le_reg_r with q; auto| apply Rmult_le_compat_r with
  (r := q) in L; [|lra]]; unfold q in *; lra. Qed.
(* {cor-cbdrf-release} *)
Theorem equal_steps v delta x : 0 <= v -> 0 <= delta < 1 -> 0 < x -> best_response (1/10) (1/10) (3/4) v delta x ->
  v < 4/29.
Proof. intros V D X B. assert (Pen : penalty (1/10) (1/10) delta (delta / 10)). { exists 1%nat. intros k K. destruct k
  as [|k]; [lia|]. change (S k) with (1 + k)%nat. rewrite sum_add, sum_zero with (n := k).
  - simpl. rewrite Rmax_right; lra.
  - intros i _. cbn [Nat.add]. rewrite S_INR. pose proof (pos_INR i). rewrite Rmax_left; lra. } apply
    (when_releasing_pays (1/10) (1/10) (3/4) v delta x ltac:(lra) ltac:(lra) ltac:(lra) V D X _ Pen) in B. nra. Qed.
(* {whole} thm-cbdrf-release cor-cbdrf-release *)
