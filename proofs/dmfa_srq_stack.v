(* DMFA-SRQ: the stack of groups computes the mechanism. *)
From Coq Require Import List.
From proofs Require Import sums dmfa_srq.
Import ListNotations.
Local Open Scope R_scope.
(* {model} *)
(* A group: the users from the first one up to the group above it, their level, and their rate of each resource *)
Record group := Group { first : nat; height : R; rate : nat -> R }.
(* The groups, the last to arrive on top; the slack; and how often step 2 has been passed through *)
Record state := State { groups : list group; slack : nat -> R; passes : nat }.
Inductive step_2 m : state -> state -> Prop :=
  | merge g h rest s c t : (∀ j < m, rate g j * (height h - height g) <= s j) ->
      step_2 m (State (Group (first h) (height h) (fun j => rate g j + rate h j) :: rest)
        (fun j => s j - rate g j * (height h - height g)) (S c)) t -> step_2 m (State (g :: h :: rest) s c) t
  | too_high g h rest s c : (∃ j < m, s j < rate g j * (height h - height g)) ->
      step_2 m (State (g :: h :: rest) s c) (State (g :: h :: rest) s (S c))
  | alone g s c : step_2 m (State [g] s c) (State [g] s (S c)).
(* user k arrives *)
Definition arrives P k s t := exists u g rest x, step_2 (m P) (State (Group k 0 (fun j => w P k * d P k j) :: groups s)
    (fun j => slack s j + w P k) (passes s)) u /\ groups u = g :: rest /\
  (∃ j < m P, 0 < rate g j /\ x = slack u j / rate g j) /\ (∀ j < m P, 0 < rate g j -> x <= slack u j / rate g j) /\
  t = State (Group (first g) (height g + x) (rate g) :: rest) (fun j => slack u j - rate g j * x) (passes u).
Definition stack P T := T 0%nat = State [] (fun _ => 0) 0 /\ ∀ k < n P, arrives P k (T k) (T (S k)).
(* the level of user i *)
Fixpoint level_in l i := match l with [] => 0 | g :: rest => if (first g <=? i)%nat then height g else level_in rest i
  end.
Definition nobody_leaves P := ∀ i < n P, came P i = i /\ (n P <= gone P i)%nat.
(* {end} *)
Section stack.
Variables (P : course) (M : nat -> R).
Hypotheses (Mo : model P) (R0 : runs P M) (Stay : nobody_leaves P).
Lemma here_if e i : (e < n P)%nat -> (i < n P)%nat -> hereb P e i = (i <=? e)%nat.
Proof. intros E I. destruct (Stay i I) as [Ci Gi]. unfold hereb. rewrite Ci. apply Bool.eq_true_iff_eq.
  rewrite !Bool.andb_true_iff, !Nat.leb_le, !Nat.ltb_lt. lia. Qed.
(* what users f to k - 1 need per unit of level; and what is left if the levels are y *)
Definition needed f k j := Σ i < n P, if ((f <=? i) && (i <? k))%nat%bool then w P i * d P i j else 0.
Definition left (y : nat -> R) k j := (Σ i < n P, if (i <? k)%nat then w P i else 0) -
  Σ i < n P, (if (i <? k)%nat then w P i * d P i j else 0) * y i.
Fixpoint holds (y : nat -> R) l k := match l with [] => k = O | g :: rest => (first g < k)%nat /\
  (∀ j < m P, rate g j = needed (first g) k j) /\ (forall i, (first g <= i < k)%nat -> y i = height g) /\
  (∀ i < first g, height g <= y i) /\ holds y rest (first g) end.
Lemma holds_levels y l : forall k, holds y l k -> ∀ i < k, level_in l i = y i.
Proof. induction l as [|g l IH]; intros k H i I; simpl in *; [lia|]. destruct H as [_ [_ [E [_ H]]]].
  destruct (Nat.leb_spec (first g) i); [symmetry; apply E; lia|apply (IH _ H); auto]. Qed.
Lemma holds_ext y z l : forall k, (∀ i < k, y i = z i) -> holds y l k -> holds z l k.
Proof. induction l as [|g l IH]; intros k Eq H; simpl in *; [auto|]. destruct H as [F [Ra [E [Le H]]]].
  split; [auto|split; [auto|split; [|split]]].
  - intros i I. rewrite <- Eq by lia. auto.
  - intros i I. rewrite <- Eq by lia. auto.
  - apply IH; [intros; apply Eq; lia|auto]. Qed.
Lemma needed_ge0 f k j : 0 <= needed f k j.
Proof. apply sum_ge0; intros i I. pose proof (brings P Mo i I); pose proof (demand_ge0 P Mo i j).
  destruct (_ && _)%bool; nra. Qed.
Lemma needed_add f g k j : (f <= g <= k)%nat -> needed g k j + needed f g j = needed f k j.
Proof. intros L. unfold needed. rewrite <- sum_plus. apply sum_ext; intros i I.
  destruct (Nat.leb_spec g i), (Nat.leb_spec f i), (Nat.ltb_spec i k), (Nat.ltb_spec i g); simpl; lia || lra. Qed.
(* While only the users from f on rise, the use is linear. *)
Lemma use_rises e f z v j : (e < n P)%nat -> z <= v -> (forall i, (f <= i <= e)%nat -> before P M e i <= z) ->
  use P M e j z + needed f (S e) j * (v - z) <= use P M e j v /\
  ((∀ i < f, v <= before P M e i) -> use P M e j z + needed f (S e) j * (v - z) = use P M e j v).
Proof. intros E L B. assert (A : ∀ i < n P, needs P e i j = if (i <? S e)%nat then w P i * d P i j else 0).
  { intros i I. unfold needs. rewrite here_if by auto. destruct (Nat.leb_spec i e), (Nat.ltb_spec i (S e)); auto; lia. }
  rewrite !use_needs. unfold needed. rewrite <- sum_mul, <- sum_plus.
  split; [apply sum_le|intros Hi; apply sum_ext]; intros i I; rewrite A by auto; pose proof (brings P Mo i I);
    pose proof (demand_ge0 P Mo i j); assert (0 <= w P i * d P i j) by nra;
    destruct (Nat.leb_spec f i), (Nat.ltb_spec i (S e)); simpl; try lra;
    first [specialize (B i ltac:(lia)); rewrite !Rmax_left by lra; lra|specialize (Hi i ltac:(lia)); rewrite !Rmax_right
    by lra; lra|assert (Rmax z (before P M e i) <= Rmax v (before P M e i)) by (apply Rle_max_compat_r; auto); nra].
    Qed.
Definition inside e s := match groups s with [] => False | g :: rest => (first g <= e)%nat /\ 0 <= height g /\
  (∀ j < m P, rate g j = needed (first g) (S e) j) /\
  (forall i, (first g <= i <= e)%nat -> before P M e i <= height g) /\ (∀ i < first g, height g <= before P M e i) /\
  holds (before P M e) rest (first g) /\
  ∀ j < m P, slack s j = pool P e - use P M e j (height g) /\ 0 <= slack s j end.
Definition stopped s := match groups s with g :: h :: rest => ∃ j < m P, slack s j < rate g j * (height h - height g)
  | _ => True end.
Lemma step_2_inside e s t : (e < n P)%nat -> step_2 (m P) s t -> inside e s -> inside e t /\ stopped t /\
  (passes t + length (groups t) = S (passes s + length (groups s)))%nat.
Proof. intros E St. induction St as [g h rest s c t Ok _ IH|g h rest s c No|g s c]; intros I; [|split; [exact I|split;
  [first [exact No|exact Logic.I]|simpl; lia]]..].
  destruct IH as [A [B C]]; [|split; [auto|split; [auto|simpl in *; lia]]].
  destruct I as [F [Z [Ra [Be [Ab [Ho Sl]]]]]]. destruct Ho as [Fh [Rh [Eh [Ah Ho]]]]. unfold inside; simpl in *.
  assert (Le : height g <= height h) by (rewrite <- (Eh (first h)) by lia; apply Ab; auto).
  split; [lia|split; [lra|split; [|split; [|split; [auto|split; [auto|]]]]]].
  - intros j J. rewrite Ra, Rh by auto. apply needed_add. lia.
  - intros i I. destruct (le_lt_dec (first g) i) as [G|G]; [specialize (Be i ltac:(lia)); lra|rewrite (Eh i) by lia;
    lra].
  - intros j J. specialize (Ok j J). split; [|lra]. destruct (Sl j J) as [-> _].
    destruct (use_rises e (first g) (height g) (height h) j E Le Be) as [_ U]. rewrite <- U, (Ra j J); [lra|].
    intros i I. destruct (le_lt_dec (first h) i) as [G|G]; [rewrite (Eh i) by lia; lra|auto]. Qed.
(* after the arrival of the first k users *)
Definition done k s := holds (before P M k) (groups s) k /\
  (∀ j < m P, slack s j = left (before P M k) k j /\ 0 <= slack s j) /\ (passes s + length (groups s) <= 2 * k)%nat.
Lemma push k j : (k < n P)%nat -> left (before P M k) k j + w P k = pool P k - use P M k j 0.
Proof. intros K. rewrite use_needs. unfold left, pool.
  rewrite <- (sum_only (n P) k (fun i => w P i)), (Rplus_comm (_ - _)) by auto. unfold Rminus.
  rewrite <- Rplus_assoc, <- sum_plus. f_equal; [|f_equal]; apply sum_ext; intros i I.
  - destruct (Stay i I) as [-> _]. destruct (Nat.eqb_spec i k), (Nat.ltb_spec i k), (Nat.leb_spec i k); lia || lra.
  - unfold needs. rewrite here_if, Rmax_right by (auto; apply before_ge0).
    destruct (Nat.ltb_spec i k), (Nat.leb_spec i k); try lia; [auto|..|auto]. assert (i = k) as -> by lia.
    replace (before P M k k) with 0; [lra|]. destruct k; [auto|]. symmetry. apply level_before_came.
    destruct (Stay (S k) I) as [-> _]. auto. Qed.
Definition pushed k s := State (Group k 0 (fun j => w P k * d P k j) :: groups s) (fun j => slack s j + w P k) (passes
  s).
Lemma push_inside k s : (k < n P)%nat -> done k s -> inside k (pushed k s).
Proof. intros K [Ho [Sl _]]. unfold inside; simpl. assert (Bk : before P M k k = 0). { destruct k; [auto|]. apply
  level_before_came. destruct (Stay (S k) K) as [-> _]; auto. }
  split; [auto|split; [lra|split; [|split; [|split; [intros; apply before_ge0|split; [auto|]]]]]].
  - intros j J. unfold needed. rewrite <- (sum_only (n P) k (fun i => w P i * d P i j)) by auto. apply sum_ext; intros
    i I. destruct (Nat.eqb_spec i k), (Nat.leb_spec k i), (Nat.ltb_spec i (S k)); simpl; lia || auto.
  - intros i I. assert (i = k) as -> by lia. lra.
  - intros j J. destruct (Sl j J) as [-> S0]. rewrite push by auto. split; [auto|]. rewrite <- push by auto.
    pose proof (brings P Mo k K). specialize (Sl j J). lra. Qed.
Lemma arrives_done k s t : (k < n P)%nat -> arrives P k s t -> done k s -> done (S k) t.
Proof. intros K [u [g [rest [x [St [Eu [[j0 [J0 [G0 X0]]] [Mn ->]]]]]]]] D. pose proof D as [Ho [Sl Co]].
  destruct (step_2_inside k _ u K St (push_inside k s K D)) as [In [Stop Count]].
  unfold inside, stopped in *. rewrite Eu in *. destruct In as [F [Z [Ra [Be [Ab [Hr Su]]]]]].
  destruct (Su j0 J0) as [E0 S0]. assert (Xs : rate g j0 * x = slack u j0) by (rewrite X0; field; lra).
  assert (X : 0 <= x) by nra. assert (Fit : ∀ j < m P, rate g j * x <= slack u j).
  { intros j J. destruct (Su j J) as [_ Sj]. pose proof (needed_ge0 (first g) (S k) j) as Rj. rewrite <- Ra in Rj by
    auto. destruct Rj as [Rj|<-]; [|lra]. specialize (Mn j J Rj). apply Rmult_le_compat_l with (r := rate g j) in Mn;
    [|lra]. replace (rate g j * (slack u j / rate g j)) with (slack u j) in Mn by (field; lra). auto. }
  assert (Hi : ∀ i < first g, height g + x <= before P M k i).
  { intros i I. destruct rest as [|h rest]; simpl in Hr; [lia|]. destruct Hr as [Fh [_ [Eh [Ah _]]]].
    apply Rle_trans with (height h); [|destruct (le_lt_dec (first h) i); [rewrite Eh by lia; lra|auto]].
    destruct Stop as [j [J Lt]]. specialize (Fit j J). destruct (Su j J) as [_ Sj]. assert (0 <= rate g j) by (rewrite
    Ra by auto; apply needed_ge0). nra. }
  assert (Us : ∀ j < m P, use P M k j (height g + x) = pool P k - (slack u j - rate g j * x)).
  { intros j J. destruct (use_rises k (first g) (height g) (height g + x) j K ltac:(lra) Be) as [_ U]. rewrite <- U by
    auto. rewrite <- Ra by auto. destruct (Su j J) as [-> _]. lra. }
  assert (Me : M k = height g + x). { destruct (R0 k) as [Fi La]; [exists k; split; [auto|]; destruct (Stay k K) as [->
    G]; lia|]. apply Rle_antisym; [|apply La; intros j J; rewrite Us by auto; specialize (Fit j J); lra]. suppose G.
    specialize (Fi j0 J0). destruct (use_rises k (first g) (height g) (M k) j0 K ltac:(lra) Be) as [U _].
    rewrite <- Ra in U by auto. nra. }
  assert (Lv : ∀ i < S k, before P M (S k) i = Rmax (M k) (before P M k i)) by (intros i I; simpl; apply level_step;
    destruct (Stay i ltac:(lia)) as [-> _]; lia).
  split; [|split; [|simpl in *; lia]].
  - simpl groups. split; [simpl; lia|split; [exact Ra|split; [|split]]]; simpl first; simpl height.
    + intros i I. rewrite Lv, Me by lia. apply Rmax_left. specialize (Be i ltac:(lia)). lra.
    + intros i I. rewrite Lv, Me by lia. apply Rmax_l.
    + apply (holds_ext (before P M k)); auto. intros i I. rewrite Lv, Me by lia. symmetry. apply Rmax_right. auto.
  - intros j J. simpl slack. specialize (Fit j J). split; [|lra]. apply Rplus_eq_reg_l with (- pool P k).
    replace (- pool P k + (slack u j - rate g j * x)) with (- use P M k j (height g + x)) by (rewrite Us; auto; lra).
    rewrite <- Me, <- use_now. unfold left, pool. simpl before. rewrite (sum_ext (n P) (fun i => if (came P i <=? k)%nat
      then w P i else 0) (fun i => if (i <? S k)%nat then w P i else 0)), (sum_ext (n P) (fun i => needs P k i j * level
      P M k i) (fun i => (if (i <? S k)%nat then w P i * d P i j else 0) * level P M k i)); [lra|..]; intros i I.
    + unfold needs. rewrite here_if by auto. destruct (Nat.leb_spec i k), (Nat.ltb_spec i (S k)); lia || auto.
    + destruct (Stay i I) as [-> _]. destruct (Nat.leb_spec i k), (Nat.ltb_spec i (S k)); lia || auto. Qed.
(* There is a next state. *)
Lemma step_2_ends g rest : forall f c, exists t, step_2 (m P) (State (g :: rest) f c) t.
Proof. revert g; induction rest as [|h rest IH]; intros g f c; [eexists; constructor|].
  destruct (some_or_none (m P) f (fun j => rate g j * (height h - height g))) as [No|Ok]; [eexists; apply too_high;
  auto|]. destruct (IH (Group (first h) (height h) (fun j => rate g j + rate h j)) (fun j => f j - rate g j * (height h
  - height g)) (S c)) as [t St]. exists t. apply merge; auto. Qed.
Lemma next_arrival k s : (k < n P)%nat -> done k s -> exists t, arrives P k s t.
Proof. intros K D. destruct (step_2_ends (Group k 0 (fun j => w P k * d P k j)) (groups s) (fun j => slack s j + w P k)
  (passes s)) as [u St]. destruct (step_2_inside k _ u K St (push_inside k s K D)) as [In _]. unfold inside in In.
  destruct (groups u) as [|g rest] eqn:Eu; [tauto|]. destruct In as [F [_ [Ra _]]]. assert (Some_rate : ∃ j < m P, 0 <
  rate g j).
  { destruct (dominant P Mo k K) as [j [J E]]. exists j. split; [auto|]. rewrite Ra by auto. apply sum_gt0 with k; auto.
    - intros i I. pose proof (brings P Mo i I); pose proof (demand_ge0 P Mo i j). destruct (_ && _)%bool; nra.
    - rewrite (proj2 (Nat.leb_le _ _) F), (proj2 (Nat.ltb_lt _ _) (Nat.lt_succ_diag_r k)). simpl. rewrite E.
      pose proof (brings P Mo k K). lra. }
  destruct (least (m P) (fun j => 0 < rate g j) (fun j => slack u j / rate g j)) as [j [J [G Mn]]]; [intros j;
  destruct (Rlt_dec 0 (rate g j)); auto|auto|]. eexists; exists u, g, rest, (slack u j / rate g j).
  split; [exact St|split; [exact Eu|split; [exists j; auto|split; [auto|reflexivity]]]]. Qed.
Lemma begin_done : done 0 (State [] (fun _ => 0) 0).
Proof. split; [reflexivity|split; [|simpl; lia]]. intros j J. simpl. split; [|lra]. unfold left.
  rewrite !sum_zero; [lra|..]; intros i _; simpl; lra. Qed.
End stack.
(* {thm-dmfa_srq-stack} The stack comes to an end at each arrival, *)
Theorem stack_goes_on P : model P -> nobody_leaves P -> exists T, stack P T.
Proof. intros Mo Stay. destruct (run_exists P Mo) as [M R0]. assert (H : forall e, (e <= n P)%nat -> exists T, T 0%nat =
  State [] (fun _ => 0) 0 /\ (∀ k < e, arrives P k (T k) (T (S k))) /\ done P M e (T e)).
  { induction e as [|e IH]; intros E; [exists (fun _ => State [] (fun _ => 0) 0); split; [auto|split; [intros; lia|
    apply begin_done]]|]. destruct IH as [T [T0 [A D]]]; [lia|].
    destruct (next_arrival P M Mo Stay e (T e) E D) as [t At]. exists (fun k => if (k <=? e)%nat then T k else t).
    split; [auto|split].
    - intros k Kk. destruct (Nat.leb_spec k e), (Nat.leb_spec (S k) e); try lia; [apply A; lia|].
      assert (k = e) as -> by lia. auto.
    - rewrite (proj2 (Nat.leb_gt _ _) (Nat.lt_succ_diag_r e)). apply (arrives_done P M Mo R0 Stay e (T e)); auto. }
  destruct (H (n P) (le_n _)) as [T [T0 [A _]]]. exists T; split; auto. Qed.
(* {thm-dmfa_srq-stack} and after arrival k the groups have the levels of the mechanism. Step 2 has been passed through at
   most twice per arrival. *)
Theorem stack_computes P M T k : model P -> runs P M -> nobody_leaves P -> stack P T -> (k < n P)%nat ->
  (∀ i < S k, level_in (groups (T (S k))) i = level P M k i) /\ (passes (T (S k)) <= 2 * S k)%nat.
Proof. intros Mo R0 Stay [T0 Ar] K. assert (D : forall e, (e <= n P)%nat -> done P M e (T e)).
  { induction e as [|e IH]; intros E; [rewrite T0; apply begin_done|]. apply (arrives_done P M Mo R0 Stay e (T e));
    auto. apply IH; lia. }
  destruct (D (S k) K) as [Ho [_ Co]]. split; [apply (holds_levels P (level P M k) _ (S k) Ho)|lia]. Qed.
(* {whole} thm-dmfa_srq-stack *)
