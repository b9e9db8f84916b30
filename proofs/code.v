(* Tied to the code: a checker on fractions of what the rules in plain Python give, and what it proves. *)
From Coq Require Import QArith Qreals List Bool.
From proofs Require Import sums.
From proofs Require lemmas filling foundations dmfa_srq.
Import ListNotations.
Local Open Scope R_scope.
(* {model} *)
Definition entry (s : list Q) i := nth i s 0%Q.
Definition cell (s : list (list Q)) i j := entry (nth i s []) j.
Definition within n m (f : nat -> nat -> Q) i j := if ((i <? n) && (j <? m))%nat then f i j else 0%Q.
Definition larger p q : Q := if Qle_bool p q then q else p.
Definition largest m (f : nat -> Q) := fold_right larger 0%Q (map f (seq 0 m)).
Definition qsum n (f : nat -> Q) := fold_right (fun i s => Qred (f i + s)) 0%Q (seq 0 n).
Definition all n f := forallb f (seq 0 n).
Definition some n f := existsb f (seq 0 n).
Definition lt_bool p q := negb (Qle_bool q p).

(* A filling in numbers: what users take, floors, lids, what there is, and the levels that are to be checked *)
Record told := Told { takes : list (list Q); floors : list Q; lids : list (option Q); rests : list Q; levels : list Q }.
Definition n t := length (levels t).
Definition m t := length (rests t).
Definition rate t := within (n t) (m t) (cell (takes t)).
Definition lid t i := nth i (lids t) None.
Definition used t j := qsum (n t) (fun i => rate t i j * (entry (levels t) i - entry (floors t) i))%Q.
Definition at_lid t i := match lid t i with Some u => Qeq_bool u (entry (levels t) i) | None => false end.
Definition stopped_by t (use : list Q) i j := Qeq_bool (entry use j) (entry (rests t) j) && lt_bool 0 (rate t i j)
  && all (n t) (fun h => Qle_bool (rate t h j) 0 || Qle_bool (entry (levels t) h) (entry (floors t) h)
    || Qle_bool (entry (levels t) h) (entry (levels t) i)).
Definition sound t := let use := map (used t) (seq 0 (m t)) in all (n t) (fun i =>
    Qle_bool (entry (floors t) i) (entry (levels t) i) && match lid t i with
      | Some u => Qle_bool (entry (floors t) i) u && Qle_bool (entry (levels t) i) u | None => true end
    && all (m t) (fun j => Qle_bool 0 (rate t i j)) && (at_lid t i || some (m t) (stopped_by t use i)))
  && all (m t) (fun j => Qle_bool 0 (entry (rests t) j) && Qle_bool (entry use j) (entry (rests t) j)).
Definition pool_of t := filling.Pool (n t) (m t) (fun i j => Q2R (rate t i j)) (fun i => Q2R (entry (floors t) i))
  (fun i => option_map Q2R (lid t i)) (fun j => Q2R (entry (rests t) j)).
Definition levels_of t i := Q2R (entry (levels t) i).

(* What a rule takes and gives: capacities C, demands D, weights, the levels that users would have without tasks (past),
   the tasks that they hold where they begin, their bounds on tasks, and the tasks that they get. *)
Record division := Division { C : list Q; D : list (list Q); weights : list Q; past : list Q; held : list Q;
  bounds : list (option Q); tasks : list Q }.
Definition part d i j := (cell (D d) i j / entry (C d) j)%Q.
Definition a_level d i := Qred (entry (weights d) i / largest (length (C d)) (part d i)).              (* in tasks *)
Definition told_by d := let users := seq 0 (length (weights d)) in let resources := seq 0 (length (C d)) in
  let per := map (a_level d) users in let level s i := Qred (entry (past d) i + entry s i / entry per i) in
  Told (map (fun i => map (fun j => Qred (entry per i * part d i j)) resources) users) (map (level (held d)) users)
    (map (fun i => option_map (fun u => Qred (entry (past d) i + u / entry per i)) (nth i (bounds d) None)) users)
    (map (fun j => Qred (1 - qsum (length (weights d)) (fun i => entry (held d) i * part d i j)%Q)) resources)
    (map (level (tasks d)) users).
Definition accepted d := sound (told_by d).
(* DRF: with weights w all begin with nothing at level 0, and the weight is the largest rate. *)
Definition plain t w := all (n t) (fun i => Qeq_bool (entry (floors t) i) 0 && lt_bool 0 (entry w i)
    && all (m t) (fun j => Qle_bool (rate t i j) (entry w i)) && some (m t) (fun j => Qeq_bool (rate t i j) (entry w i)))
  && all (m t) (fun j => Qeq_bool (entry (rests t) j) 1).
Definition drf_pool_of t w := foundations.Pool (n t) (m t) (fun i j => Q2R (rate t i j)) (fun i => Q2R (entry w i))
  (fun i => option_map Q2R (lid t i)).
(* {end} *)
Lemma le_R p q : Qle_bool p q = true -> Q2R p <= Q2R q.
Proof. intros H; apply Qle_Rle, Qle_bool_iff, H. Qed.
Lemma lt_R p q : lt_bool p q = true -> Q2R p < Q2R q.
Proof. unfold lt_bool; intros H; apply Qlt_Rlt. apply Qnot_le_lt; intros L.
  apply Qle_bool_iff in L; rewrite L in H; discriminate. Qed.
Lemma eq_R p q : Qeq_bool p q = true -> Q2R p = Q2R q.
Proof. intros H; apply Qeq_eqR, Qeq_bool_iff, H. Qed.
Lemma zero_R : Q2R 0 = 0. Proof. unfold Q2R; simpl; lra. Qed.
Lemma one_R : Q2R 1 = 1. Proof. unfold Q2R; simpl; lra. Qed.
Lemma sum_R k (f : nat -> Q) : Q2R (qsum k f) = Σ i < k, Q2R (f i).
Proof. unfold qsum. assert (H : forall k s, Q2R (fold_right (fun i t => Qred (f i + t)) s (seq 0 k)) = (Σ i < k,
  Q2R (f i)) + Q2R s).
  { intros l; induction l as [|l IH]; intros s; [simpl; lra|]. rewrite seq_S, fold_right_app, IH; cbn [fold_right sum].
  rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_plus. simpl; lra. } rewrite H, zero_R; lra. Qed.
Lemma each k f i : all k f = true -> (i < k)%nat -> f i = true.
Proof. unfold all; rewrite forallb_forall; intros H I; apply H, in_seq; lia. Qed.
Lemma one_of k f : some k f = true -> ∃ j < k, f j = true.
Proof. intros H; apply existsb_exists in H as [j [J E]]. apply in_seq in J. exists j; split; [lia|auto]. Qed.
Lemma within_is (p : Q -> Prop) k l f i j : p 0%Q -> ((i < k)%nat -> (j < l)%nat -> p (f i j)) -> p (within k l f i j).
Proof. intros P0 H; unfold within. destruct (i <? k)%nat eqn:I, (j <? l)%nat eqn:J; simpl; auto.
  apply H; apply Nat.ltb_lt; auto. Qed.
Lemma listed (f : nat -> Q) k j : (j < k)%nat -> entry (map f (seq 0 k)) j = f j.
Proof. intros J. unfold entry. rewrite nth_indep with (d' := f O) by (rewrite map_length, seq_length; auto).
  rewrite map_nth, seq_nth by auto. auto. Qed.
(* {thm-one_level-filling} What the checker accepts is the lexicographically max-min allocation. *)
Theorem accepted_is_filled t : sound t = true -> let P := pool_of t in filling.model P /\
  filling.allowed P (levels_of t) /\ filling.certified P (levels_of t) /\
  lemmas.lexicographically_max_min (n t) (filling.allowed P) (levels_of t).
Proof. intros Ac P. unfold sound in Ac; apply andb_true_iff in Ac as [Us Fr]. set (use := map (used t) (seq 0 (m t))) in
  *. assert (U : ∀ i < n t, Q2R (entry (floors t) i) <= Q2R (entry (levels t) i) /\ match lid t i with Some u =>
  Q2R (entry (floors t) i) <= Q2R u /\ Q2R (entry (levels t) i) <= Q2R u | None => True end /\ (∀ j < m t, 0 <=
  Q2R (rate t i j)) /\ (at_lid t i = true \/ ∃ j < m t, stopped_by t use i j = true)).
  { intros i I. apply (each _ _ i) in Us; auto. rewrite !andb_true_iff, orb_true_iff in Us.
    destruct Us as [[[L B] A] S]. split; [apply le_R; auto|split; [|split]].
    - destruct (lid t i); [|auto]. apply andb_true_iff in B as [B1 B2]. split; apply le_R; auto.
    - intros j J. rewrite <- zero_R. apply le_R, (each _ _ j A J).
    - destruct S as [S|S]; [left; auto|right; apply one_of; auto]. }
  assert (Use : ∀ j < m t, filling.used P (levels_of t) j = Q2R (entry use j)).
  { intros j J; unfold use; rewrite listed by auto. unfold used; rewrite sum_R. apply sum_ext; intros i _.
    unfold levels_of; simpl. rewrite Q2R_mult, Q2R_minus; auto. }
  assert (F : ∀ j < m t, 0 <= Q2R (entry (rests t) j) /\ Q2R (entry use j) <= Q2R (entry (rests t) j)).
  { intros j J. apply (each _ _ j) in Fr; auto. apply andb_true_iff in Fr as [F1 F2]. rewrite <- zero_R.
    split; apply le_R; auto. }
  assert (Ce : filling.certified P (levels_of t)). { intros i I. destruct (U i I) as [_ [_ [_ [L|[j [J S]]]]]].
    - left. unfold at_lid in L. simpl. destruct (lid t i); [|discriminate]. simpl; f_equal; apply eq_R; auto.
    - right; exists j. unfold stopped_by in S. rewrite !andb_true_iff in S. destruct S as [[S1 S2] S3].
      split; [exact J|split; [rewrite Use by auto; apply eq_R; auto|split; [simpl; rewrite <- zero_R; apply lt_R;
      auto|]]]. intros h H A L. apply (each _ _ h) in S3; auto. rewrite !orb_true_iff in S3. simpl in *.
      destruct S3 as [[Z|Z]|Z]; apply le_R in Z; [rewrite zero_R in Z; lra|unfold levels_of in *; lra|exact Z]. }
  assert (Mo : filling.model P). { split; simpl.
    - intros i j. unfold rate, within. destruct (i <? n t)%nat eqn:I, (j <? m t)%nat eqn:J; simpl; rewrite ?zero_R;
      try lra. pose proof I as I'; pose proof J as J'. apply Nat.ltb_lt in I', J'. destruct (U i I') as [_ [_ [A _]]].
      specialize (A j J'). unfold rate, within in A. rewrite I, J in A. exact A.
    - intros i I. destruct (U i I) as [_ [B _]]. destruct (lid t i); simpl; [apply B|auto].
    - intros j J; apply F; auto.
    - intros i I. destruct (Ce i I) as [E|[j [J [_ [A _]]]]]; [left; simpl in E; congruence|right; exists j; auto]. }
  assert (Al : filling.allowed P (levels_of t)). { split; [|intros j J; rewrite Use by auto; apply F; auto]. intros i I.
    destruct (U i I) as [L [B _]]. split; [exact L|]. simpl. destruct (lid t i); simpl; [apply B|auto]. }
  split; [auto|split; [auto|split; [auto|]]]. apply (filling.three_in_one P (levels_of t) Mo Al); auto. Qed.
(* {alg-foundations-filling} For DRF it is the max-min fair vector of Foundations. *)
Theorem accepted_is_fair t w : sound t = true -> plain t w = true -> let P := drf_pool_of t w in foundations.model P /\
  foundations.feasible P (levels_of t) /\ foundations.certified P (levels_of t) /\ foundations.fair P (levels_of t).
Proof. intros Ac Dr P. destruct (accepted_is_filled t Ac) as [Mo [Al [Ce _]]]. unfold plain in Dr.
  apply andb_true_iff in Dr as [Us Fr]. assert (U : ∀ i < n t, Q2R (entry (floors t) i) = 0 /\ 0 < Q2R (entry w i) /\
  (∀ j < m t, Q2R (rate t i j) <= Q2R (entry w i)) /\ ∃ j < m t, Q2R (rate t i j) = Q2R (entry w i)).
  { intros i I. apply (each _ _ i) in Us; auto. rewrite !andb_true_iff in Us. destruct Us as [[[Z W] A] S].
    rewrite <- zero_R. split; [apply eq_R; auto|split; [apply lt_R; auto|split]].
    - intros j J. apply le_R, (each _ _ j A J).
    - apply one_of in S as [j [J E]]. exists j; split; [auto|apply eq_R; auto]. }
  assert (F : ∀ j < m t, Q2R (entry (rests t) j) = 1) by (intros j J; rewrite <- one_R; apply eq_R, (each _ _ j Fr J)).
  assert (M : foundations.model P). { split; simpl.
    - intros i I; destruct (U i I); lra.
    - intros i I Z; destruct (U i I); lra.
    - intros i j; apply (filling.need_ge0 _ Mo).
    - intros i j I. destruct (le_lt_dec (m t) j) as [J|J]; [|apply (U i I); auto]. unfold rate, within.
      rewrite (proj2 (Nat.ltb_ge _ _) J), andb_false_r, zero_R. destruct (U i I); lra.
    - intros i I. apply (U i I).
    - intros i I. pose proof (filling.lid_ge _ Mo i I) as L. simpl in L. rewrite (proj1 (U i I)) in L. exact L. }
  assert (Us' : forall j, foundations.use P (levels_of t) j = filling.used (pool_of t) (levels_of t) j).
  { intros j; apply sum_ext; intros i I; simpl. rewrite (proj1 (U i I)); ring. }
  assert (Fe : foundations.feasible P (levels_of t)). { split; [|split].
    - intros i I. pose proof (proj1 (proj1 Al i I)) as L. simpl in L. rewrite (proj1 (U i I)) in L. exact L.
    - intros i I; apply Al; auto.
    - intros j J. rewrite Us'. pose proof (proj2 Al j J) as L. simpl in L. rewrite (F j J) in L. exact L. }
  assert (Cf : foundations.certified P (levels_of t)). { intros i I. destruct (Ce i I) as [E|[j [J [Us2 [A H]]]]];
    [left; exact E|right; exists j]. simpl in Us2, H. split; [exact J|split; [rewrite Us', Us2; apply F; auto|split;
    [exact A|]]]. intros h K Ah. specialize (H h K Ah). rewrite (proj1 (U h K)) in H.
    destruct (proj1 Fe h K) as [L|<-]; [auto|apply (proj1 Fe i I)]. }
  split; [auto|split; [auto|split; [auto|apply foundations.certified_fair; auto]]]. Qed.
(* {model} *)
(* what users need and bring, the events with which they come and go, and the lowest level after each *)
Record history := History { N : list (list Q); brings : list Q; resources : nat; comes : list nat; goes : list nat;
  lowest : list Q }.
Definition users h := length (brings h).
Definition events h := length (lowest h).
Definition unit_of h := within (users h) (resources h) (fun i j => Qred (cell (N h) i j / largest (resources h)
  (cell (N h) i))).
Definition course_of h := dmfa_srq.Course (users h) (resources h) (fun i j => Q2R (unit_of h i j))
  (fun i => Q2R (entry (brings h) i))
  (fun i => nth i (comes h) O) (fun i => Nat.min (nth i (goes h) O) (events h)).
Definition lowest_of h e := Q2R (entry (lowest h) e).
Fixpoint level_at h e i := larger 0 (match e with
  | O => if (nth i (comes h) O <=? 0)%nat then entry (lowest h) O else 0%Q
  | S f => if (nth i (comes h) O <=? e)%nat then larger (entry (lowest h) e) (level_at h f i) else 0%Q end).
Definition before h e i := match e with O => 0%Q | S f => level_at h f i end.
Definition here h e i := dmfa_srq.hereb (course_of h) e i.
Definition in_use h e j := qsum (users h) (fun i => if here h e i then entry (brings h) i * unit_of h i j * larger
  (entry (lowest h) e) (before h e i) else 0)%Q.
Definition pool h e := qsum (users h) (fun i => if (nth i (comes h) O <=? e)%nat then entry (brings h) i else 0%Q).
Definition accepted_run h := all (users h) (fun i => lt_bool 0 (entry (brings h) i)
    && all (resources h) (fun j => Qle_bool 0 (unit_of h i j) && Qle_bool (unit_of h i j) 1) && some (resources h)
      (fun j => Qeq_bool (unit_of h i j) 1))
  && all (events h) (fun e => negb (some (users h) (here h e)) ||
    all (resources h) (fun j => Qle_bool (in_use h e j) (pool h e)) && some (resources h) (fun j => Qeq_bool (in_use h e
      j) (pool h e)
      && some (users h) (fun i => here h e i && lt_bool 0 (unit_of h i j) && Qle_bool (before h e i) (entry (lowest h)
        e)))).
(* {end} *)
Lemma larger_R p q : Q2R (larger p q) = Rmax (Q2R p) (Q2R q).
Proof. unfold larger. destruct (Qle_bool p q) eqn:E; [rewrite Rmax_right; auto; apply le_R; auto|rewrite Rmax_left;
  auto]. apply Rlt_le, lt_R. unfold lt_bool; rewrite E; auto. Qed.
Lemma level_R h e i : Q2R (level_at h e i) = dmfa_srq.level (course_of h) (lowest_of h) e i.
Proof. induction e as [|e IH]; cbn [level_at dmfa_srq.level]; rewrite larger_R, zero_R; cbn [dmfa_srq.came course_of].
  - destruct (nth i (comes h) O <=? 0)%nat; [auto|rewrite zero_R; auto].
  - destruct (nth i (comes h) O <=? S e)%nat; [rewrite larger_R, IH; auto|rewrite zero_R; auto]. Qed.
(* {lem-dmfa_srq-use} If the checker accepts a result of the code, it is a run of the mechanism; so the theorems hold
   of it. *)
Theorem accepted_runs h : accepted_run h = true -> dmfa_srq.model (course_of h) /\ dmfa_srq.runs (course_of h)
  (lowest_of h).
Proof. unfold accepted_run; rewrite andb_true_iff; intros [Us Ev].
  assert (U : ∀ i < users h, 0 < Q2R (entry (brings h) i) /\ (∀ j < resources h, 0 <= Q2R (unit_of h i j) <= 1) /\
  ∃ j < resources h, Q2R (unit_of h i j) = 1).
  { intros i I. apply (each _ _ i) in Us; auto. rewrite !andb_true_iff in Us. destruct Us as [[W A] S].
    apply lt_R in W; rewrite zero_R in W. split; [auto|split].
    - intros j J; apply (each _ _ j) in A; auto. rewrite andb_true_iff in A; destruct A as [A B]; apply le_R in A;
      apply le_R in B; rewrite zero_R in A; rewrite one_R in B; auto.
    - apply one_of in S as [j [J E]]. exists j; split; [auto|]. apply eq_R in E; rewrite one_R in E; auto. }
  assert (range : forall i j, 0 <= Q2R (unit_of h i j) <= 1).
  { intros i j. destruct (lt_dec i (users h)) as [I|I], (lt_dec j (resources h)) as [J|J]; [apply (U i I); auto|..].
    all: assert (Z : unit_of h i j = 0%Q); [|rewrite Z, zero_R; lra].
    all: unfold unit_of, within; rewrite ?(proj2 (Nat.ltb_nlt _ _) J), ?(proj2 (Nat.ltb_nlt _ _) I), ?andb_false_r;
      auto. }
  assert (Mo : dmfa_srq.model (course_of h)).
  { split; simpl; [intros i I; apply (U i I)|intros; apply range|intros; apply range|intros i I; apply (U i I)]. }
  assert (beforeR : forall e i, Q2R (before h e i) = dmfa_srq.before (course_of h) (lowest_of h) e i) by (intros [|e] i;
  [apply zero_R|apply level_R]). assert (useR : forall e j, Q2R (in_use h e j) = dmfa_srq.use (course_of h)
  (lowest_of h) e j (lowest_of h e)).
  { intros e j; unfold in_use; rewrite sum_R. apply sum_ext; intros i _. unfold here.
    destruct (dmfa_srq.hereb (course_of h) e i); [|apply zero_R]. rewrite !Q2R_mult, larger_R, beforeR. reflexivity. }
  assert (poolR : forall e, Q2R (pool h e) = dmfa_srq.pool (course_of h) e). { intros e; unfold pool; rewrite sum_R.
  apply sum_ext; intros i _. simpl. destruct (nth i (comes h) O <=? e)%nat; [auto|apply zero_R]. }
  split; [auto|]. intros e [i Hi]. assert (E : (e < events h)%nat) by (destruct Hi as [_ [_ G]]; simpl in G; lia).
  apply (each _ _ e) in Ev; auto. rewrite orb_true_iff, negb_true_iff in Ev. destruct Ev as [Nb|Ev].
  { exfalso. assert (T : some (users h) (here h e) = true); [|congruence]. apply existsb_exists.
    exists i; split; [apply in_seq; destruct Hi; simpl in *; lia|]. apply dmfa_srq.hereb_here; auto. }
  rewrite andb_true_iff in Ev; destruct Ev as [F B]. split.
  - intros j J. rewrite <- useR, <- poolR. apply le_R. apply (each _ _ j F J).
  - apply one_of in B as [j [J B]]. rewrite andb_true_iff in B; destruct B as [Full B]. apply one_of in B as [g [G B]].
    rewrite !andb_true_iff in B. destruct B as [[Hg D] Lo]. apply eq_R in Full; apply lt_R in D; apply le_R in Lo.
    rewrite useR, poolR in Full. rewrite zero_R in D. rewrite beforeR in Lo.
    apply (dmfa_srq.nothing_larger_fits (course_of h) (lowest_of h) e j g); auto. apply dmfa_srq.hereb_here; auto. Qed.
