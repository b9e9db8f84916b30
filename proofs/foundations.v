(* Dominant resource fairness: any number of users and resources, real numbers, zero demands, bounds and weights. *)
From Coq Require Import List.
From proofs Require Import sums.
From proofs Require Export lemmas.
From proofs Require filling.
Import ListNotations.
Local Open Scope R_scope.
(* {model} *)
Record pool := Pool {
  n : nat; m : nat;           (* users and resources, numbered from 0 *)
  a : nat -> nat -> R;        (* share of resource j that user i holds per unit of its level *)
  w : nat -> R;               (* weight *)
  b : nat -> option R         (* bound on the level; None: no bound *)
}.

Record model (P : pool) : Prop := {
  weight_ge0 : ∀ i < n P, 0 <= w P i;
  weightless : ∀ i < n P, w P i = 0 -> b P i = Some 0;   (* who is absent gets nothing *)
  rate_ge0 : forall i j, 0 <= a P i j;
  rate_le : forall i j, (i < n P)%nat -> a P i j <= w P i;
  dominant : ∀ i < n P, ∃ k < m P, a P i k = w P i;
  bound_ge0 : ∀ i < n P, within 0 (b P i)
}.
Definition use P (y : nat -> R) j := Σ i < n P, a P i j * y i.

(* y lies in the set P of the page *)
Definition feasible P (y : nat -> R) :=
  (∀ i < n P, 0 <= y i) /\ (∀ i < n P, within (y i) (b P i)) /\
  (∀ j < m P, use P y j <= 1).
Definition fair P y := max_min (n P) (feasible P) y.
Definition bottleneck P y i j := (j < m P)%nat /\ use P y j = 1 /\ 0 < a P i j /\
  ∀ h < n P, 0 < a P h j -> y h <= y i.

(* 1 of the certificate *)
Definition certified P y := ∀ i < n P, b P i = Some (y i) \/ exists j, bottleneck P y i j.
Definition leximin P y := lexicographically_max_min (n P) (feasible P) y.

(* Progressive filling: from level 0, with the bounds as lids; the water starts at 0. *)
Definition to_fill P := filling.Pool (n P) (m P) (a P) (fun _ => 0) (b P) (fun _ => 1).
Definition begins P s := filling.begins (to_fill P) s /\ filling.water s = 0.
(* {end} *)

(* ------------------------------------------------------------------------- the certificate and the filling *)
Lemma filled_model P : model P -> filling.model (to_fill P).
Proof. intros M; split; simpl; [apply M|apply M|intros; lra|]. intros i I. destruct (weight_ge0 P M i I) as [W|W].
  - right. destruct (dominant P M i I) as [k [K D]]. exists k; split; [auto|lra].
  - left. rewrite (weightless P M i I); [discriminate|auto]. Qed.
Lemma filled_use P y j : filling.used (to_fill P) y j = use P y j.
Proof. apply sum_ext; intros i _; simpl; lra. Qed.
Lemma filled_allowed P y : filling.allowed (to_fill P) y <-> feasible P y.
Proof. unfold filling.allowed, feasible; simpl. split; [intros [A B]|intros [A [B C]]].
  - split; [intros; apply A; auto|split; [intros; apply A; auto|]]. intros j J; rewrite <- filled_use; auto.
  - split; [intros i I; split; auto|]. intros j J; rewrite filled_use; auto. Qed.
Lemma filled_bottleneck P y i j : (bottleneck P y i j -> filling.bottleneck (to_fill P) y i j) /\ (feasible P y ->
  (i < n P)%nat -> filling.bottleneck (to_fill P) y i j -> bottleneck P y i j).
Proof. unfold filling.bottleneck, bottleneck. rewrite filled_use; simpl. split; [intros [J [U [A H]]]; auto|].
  intros [Y0 _] I [J [U [A H]]]. repeat split; auto. intros h K Ah. destruct (Y0 h K) as [G|<-]; auto. Qed.
Lemma filled_certified P y : (certified P y -> filling.certified (to_fill P) y) /\ (feasible P y ->
  filling.certified (to_fill P) y -> certified P y).
Proof. split; [intros C|intros F C]; intros i I; destruct (C i I) as [E|[j B]]; auto; right; exists j;
  apply filled_bottleneck; auto. Qed.
Lemma same_set n (S T : (nat -> R) -> Prop) y : (forall x, S x <-> T x) -> (max_min n S y -> max_min n T y) /\
  (lexicographically_max_min n S y -> lexicographically_max_min n T y).
Proof. intros E; split; intros H x X; apply H; apply E; auto. Qed.
(* {thm-foundations-certificate} 1 implies 2. *)
Theorem certified_fair P y : model P -> certified P y -> fair P y.
Proof. intros M C. apply (same_set (n P) (filling.allowed (to_fill P))); [apply filled_allowed|].
  apply (filling.certified_max_min (to_fill P)); [apply filled_model; auto|].
  apply filled_certified; auto. Qed.
(* {thm-foundations-certificate} 2 implies 3. *)
Theorem fair_is_leximin P y : feasible P y -> fair P y -> leximin P y.
Proof. apply max_min_is_leximin. Qed.
(* {thm-foundations-certificate} 3 implies 1. *)
Theorem leximin_certified P y : model P -> feasible P y -> leximin P y -> certified P y.
Proof. intros M F L. apply filled_certified; auto. apply (filling.three_in_one (to_fill P)); [apply filled_model;
  auto|apply filled_allowed; auto|]. apply (same_set (n P) (feasible P)); auto. intros x; symmetry; apply filled_allowed.
  Qed.
(* {thm-foundations-certificate} {thm-foundations-filling} At most one vector has these properties. *)
Theorem unique P y y' : feasible P y -> feasible P y' -> fair P y -> leximin P y' -> ∀ i < n P, y i = y' i.
Proof. intros F F'; apply only_one; auto. Qed.
Theorem filling P : model P -> exists y, feasible P y /\ certified P y.
Proof. intros M. destruct (filling.exists_certified (to_fill P) (filled_model P M)) as [y [F C]].
  apply filled_allowed in F. exists y; split; [auto|apply filled_certified; auto]. Qed.
(* {thm-foundations-filling} It ends after at most n rounds, and after at most m and the number of users with a bound. *)
Theorem at_most_n_rounds P k s s' : filling.rounds (to_fill P) k s s' ->
  (k <= n P)%nat /\ (k <= m P + filling.bounded (to_fill P))%nat.
Proof. apply (filling.rounds_end (to_fill P)). Qed.
(* {thm-foundations-filling} As long as somebody rises there is a next round, up to the first stop. *)
Theorem another_round P k s s' : model P -> begins P s -> filling.rounds (to_fill P) k s s' ->
  (∃ i < n P, filling.rising s' i = true) -> exists s'', filling.first_round (to_fill P) s' s''.
Proof. intros M [B W] Ro So. apply filling.first_to_stop; auto; [apply filled_model; auto|..].
  - apply (filling.rounds_kept (to_fill P) k s); auto; [apply filled_model; auto|apply filling.begin_kept;
    [apply filled_model|]; auto].
  - intros i _ _; simpl. rewrite <- W. clear - Ro. induction Ro as [|k s s' s'' _ IH [Le _]]; lra. Qed.
(* {thm-foundations-filling} Its result has the certificate, and so it is max-min fair and lexicographically maximal. *)
Theorem progressive_filling P k s s' : model P -> begins P s -> filling.rounds (to_fill P) k s s' ->
  (∀ i < n P, filling.rising s' i = false) -> let y := filling.stands s' in
  feasible P y /\ certified P y /\ fair P y /\ leximin P y.
Proof. intros M [B _] Ro No y. destruct (filling.result (to_fill P) k s s' (filled_model P M) B Ro No) as [F C].
  apply filled_allowed in F. apply filled_certified in C; auto. pose proof (certified_fair P _ M C).
  repeat split; auto; try apply F. apply fair_is_leximin; auto. Qed.
(* {thm-foundations-filling} A resource that stops a user which is below its bound is its bottleneck at the end. *)
Theorem stopped_by P k l s s1 s2 s' i j : model P -> begins P s -> filling.rounds (to_fill P) k s s1 ->
  filling.round (to_fill P) s1 s2 -> filling.rounds (to_fill P) l s2 s' -> (i < n P)%nat -> filling.rising s1 i = true ->
  b P i <> Some (filling.stands s2 i) -> filling.full (to_fill P) (filling.stands s2) i j ->
  bottleneck P (filling.stands s') i j.
Proof. intros M [B _] R1 R R2 I Ri N Fu. pose proof (filled_model P M) as FM. apply filled_bottleneck; auto.
  - apply filled_allowed. apply (filling.rounds_kept (to_fill P) l s2); auto. apply (filling.round_kept (to_fill P) s1);
    auto. apply (filling.rounds_kept (to_fill P) k s); auto. apply filling.begin_kept; auto.
  - apply (filling.stopped_by (to_fill P) k l s s1 s2 s' i j); auto. Qed.
(* ------------------------------------------------------------------------------------------- four properties *)
(* {thm-foundations-si} With weights that sum to 1, z = 1 is the level that a user would have alone with its weight of
   everything. *)
Theorem sharing_incentive P y i z : model P -> feasible P y -> certified P y -> (i < n P)%nat ->
  within z (b P i) -> z * (Σ h < n P, w P h) <= 1 -> z <= y i.
Proof. intros M [Y0 [_ F]] Cy I Bz Z. destruct (Cy i I) as [E|[j [J [U [A H]]]]]; [rewrite E in Bz; exact Bz|].
  suppose L. assert (T : use P y j <= Σ h < n P, w P h * y i).
  { apply sum_le; intros h K. pose proof (rate_ge0 P M h j). pose proof (rate_le P M h j K). pose proof (Y0 h K).
    pose proof (Y0 i I). destruct (Req_dec (a P h j) 0) as [->|]; [pose proof (weight_ge0 P M h K); nra|].
    assert (y h <= y i) by (apply H; auto; lra). nra. }
  rewrite sum_mul, U in T. pose proof (Y0 i I). assert (W : 0 < Σ h < n P, w P h) by (apply sum_gt0 with i; auto;
  [apply weight_ge0; auto|pose proof (rate_le P M i j I); lra]). pose proof (Rmult_lt_compat_l _ _ _ W L).
  rewrite Rmult_comm in Z. set (all := sum (n P) (fun h => w P h)) in *. lra. Qed.
(* {lem-foundations-envy} On the bundle of h, scaled by weight, user i reaches no higher level than h. *)
Theorem envy_needs_higher_level P i h x z : model P -> (i < n P)%nat -> (h < n P)%nat -> 0 < w P i -> 0 < w P h ->
  0 <= x -> (∀ k < m P, a P i k * z <= w P i / w P h * (a P h k * x)) -> z <= x.
Proof. intros M I H Wi Wh X S. destruct (dominant P M i I) as [k [K D]]. specialize (S k K). rewrite D in S.
  pose proof (rate_le P M h k H). apply Rmult_le_reg_l with (w P i); auto. apply Rle_trans with (1 := S).
  replace (w P i * x) with (w P i / w P h * (w P h * x)) by (field; lra).
  apply Rmult_le_compat_l; [apply Rlt_le, Rdiv_lt_0_compat; auto|nra]. Qed.
(* {thm-foundations-ef} On the bundle of h, scaled by weight, user i reaches no higher level than it has. *)
Theorem envy_freeness P y i h z : model P -> feasible P y -> certified P y -> (i < n P)%nat -> (h < n P)%nat ->
  0 < w P h -> within z (b P i) -> (∀ k < m P, a P i k * z <= w P i / w P h * (a P h k * y h)) -> z <= y i.
Proof. intros M [Y0 _] Cy I K Wh Bz S. destruct (Cy i I) as [E|[j [J [_ [A H]]]]]; [rewrite E in Bz; exact Bz|].
  pose proof (rate_le P M i j I). destruct (Rle_lt_or_eq_dec 0 (a P h j) (rate_ge0 P M h j)) as [G|Z].
  - apply Rle_trans with (y h); [|auto]. apply (envy_needs_higher_level P i h); auto; lra.
  - specialize (S j J). rewrite <- Z in S. pose proof (Y0 i I). nra. Qed.
(* {model} *)
(* In bundles x h j user h has room for the level z h, up to its bound. *)
Definition worth P (x : nat -> nat -> R) (z : nat -> R) := (∀ j < m P, (Σ h < n P, x h j) <= 1) /\
  ∀ h < n P, within (z h) (b P h) /\ ∀ j < m P, a P h j * z h <= x h j.
Definition efficient P y := forall x z, worth P x z -> (∀ h < n P, y h <= z h) -> ∀ i < n P, z i <= y i.
(* whoever is below its bound needs a resource that is used up *)
Definition stopped P y := ∀ i < n P, b P i = Some (y i) \/ ∃ j < m P, use P y j = 1 /\ 0 < a P i j.
(* {end} *)

(* {lem-foundations-more} *)
Theorem who_can_have_more P y : model P -> feasible P y -> (efficient P y <-> stopped P y).
Proof. intros M [Y0 [Bd F]]. split.
  - intros Ef i I. assert (D : forall j, {use P y j = 1 /\ 0 < a P i j} + {~ (use P y j = 1 /\ 0 < a P i j)}).
    { intros j; destruct (Req_EM_T (use P y j) 1), (Rlt_dec 0 (a P i j)); [left; auto|right; tauto..]. }
    destruct (dec_ex (m P) _ D) as [|N]; [auto|left]. destruct (small_room (m P) (use P y) (a P i) (fun _ => 1)) as
    [e [E Ok]]. { intros j J. split; [apply rate_ge0; auto|split; [auto|]]. intros U. suppose A. apply N. exists j;
    auto. } destruct (b P i) as [u|] eqn:Eb; [f_equal; pose proof (Bd i I) as Bi; rewrite Eb in Bi; simpl in Bi;
    destruct (Req_dec u (y i)) as [|Nu]; [auto|exfalso]|exfalso].
    1: set (d := Rmin e (u - y i)); assert (Dp : 0 < d <= e) by (split; [apply Rmin_glb_lt; lra|apply Rmin_l]);
      assert (Db : y i + d <= u) by (unfold d; pose proof (Rmin_r e (u - y i)); lra).
    2: set (d := e); assert (Dp : 0 < d <= e) by (unfold d; lra).
    all: set (v := fun h => y h + if Nat.eqb h i then d else 0); assert (v i <= y i); [|unfold v in H;
      rewrite Nat.eqb_refl in H; lra].
    all: apply (Ef (fun h j => a P h j * v h)); auto; [split|intros h _; unfold v; destruct (Nat.eqb h i); lra].
    1, 3: intros j J; apply Rle_trans with (use P y j + a P i j * d); [|specialize (Ok j J);
      pose proof (rate_ge0 P M i j); nra].
    1, 2: rewrite <- (sum_only (n P) i (fun h => a P h j * d)) by auto; unfold use; rewrite <- sum_plus; apply sum_le;
      intros h _; unfold v; destruct (Nat.eqb h i); lra.
    all: intros h H; split; [|intros; lra]; specialize (Bd h H); unfold v; destruct (Nat.eqb_spec h i) as [->|];
      [rewrite Eb; simpl; auto|rewrite Rplus_0_r; auto].
  - intros St x z [X Z] up i I. suppose G. destruct (St i I) as [E|[j [J [U A]]]]; [destruct (Z i I) as [B _];
    rewrite E in B; simpl in B; lra|]. assert (L : use P y j < Σ h < n P, x h j); [|specialize (X j J); lra].
    apply sum_lt with i; auto; [intros h K|]; destruct (Z _ ltac:(eassumption)) as [_ R]; specialize (R j J);
    [specialize (up h K); pose proof (rate_ge0 P M h j); nra|nra]. Qed.
(* {thm-foundations-po} *)
Theorem pareto_optimality P y : model P -> feasible P y -> certified P y -> efficient P y.
Proof. intros M F Cy. apply who_can_have_more; auto. intros i I. destruct (Cy i I) as [|[j [J [U [A _]]]]]; [auto|right;
  exists j; auto]. Qed.
(* {lem-foundations-one} The allocations are y and y'. User i is below its bound in the first, and holds more in the
   second. *)
Theorem one_user_changes P Q y y' i : (forall h j, 0 <= a P h j) -> (forall h j, 0 <= a Q h j) -> n Q = n P ->
  m Q = m P -> (forall h, h <> i -> (forall j, a Q h j = a P h j) /\ b Q h = b P h) -> feasible P y -> certified P y ->
  feasible Q y' -> certified Q y' -> (i < n P)%nat -> b P i <> Some (y i) -> (∀ j < m P, 0 < a P i j ->
  a P i j * y i < a Q i j * y' i) -> y' i < y i.
Proof. intros A0 A0' en em ea [Y0 [Bd F]] Cy [Y0' [Bd' F']] Cy' I Below more. suppose up.
  destruct (Cy i I) as [|[l Bi]]; [tauto|]. assert (U' : forall j, use Q y' j = Σ h < n P, a Q h j * y' h) by (intros;
  unfold use; rewrite en; auto).
  (* at a bottleneck where somebody holds more, another loses *)
  assert (lose : forall g j e, bottleneck P y g j -> (e < n P)%nat -> a P e j * y e < a Q e j * y' e ->
    ∃ f < n P, (f <> i /\ y' f < y f) /\ y f <= y g).
  { intros g j e [J [U [_ T]]] E G. destruct (exchange (n P) (fun h => a Q h j * y' h) (fun h => a P h j * y h) e)
    as [f [Ff [_ L]]]; auto.
    - fold (use P y j); rewrite U, <- U'. apply F'; lia.
    - simpl in L. destruct (Nat.eq_dec f i) as [->|N].
      + exfalso. specialize (Y0' i ltac:(lia)). pose proof (A0' i j).
        destruct (Rle_lt_or_eq_dec 0 (a P i j) (A0 i j)) as [Ai|Z]; [specialize (more j J Ai); lra|rewrite <- Z in L;
        nra].
      + rewrite (proj1 (ea f N)) in L. apply factor in L as [Af L]; auto. exists f; auto. }
  destruct (lose i l i Bi I) as [h0 [H0 [L0 le0]]]; [apply more; apply Bi|].
  destruct (least (n P) (fun h => h <> i /\ y' h < y h) y') as [h [H [[N lost] worst]]].
  { intros g; destruct (Nat.eq_dec g i); [right; tauto|]. destruct (Rlt_le_dec (y' g) (y g)); [left; auto|right; lra].
  } { exists h0; auto. } assert (low : y' h < y' i) by (specialize (worst h0 H0 L0); simpl in worst; lra).
  (* the bottleneck of the loser: somebody gains *)
  destruct (Cy' h ltac:(lia)) as [E|[k [K [U [A T]]]]]; [rewrite (proj2 (ea h N)) in E; specialize (Bd h H);
  rewrite E in Bd; simpl in Bd; lra|]. assert (Zk : a Q i k = 0 /\ a P i k = 0).
  { assert (Zq : a Q i k = 0) by (destruct (Rle_lt_or_eq_dec 0 (a Q i k) (A0' i k)) as [P0|];
    [specialize (T i ltac:(lia) P0); lra|auto]). split; [auto|]. destruct (Rle_lt_or_eq_dec 0 (a P i k) (A0 i k))
    as [P0|]; [specialize (more k ltac:(lia) P0); specialize (Y0 i I); rewrite Zq in more; nra|auto]. }
  destruct (exchange (n P) (fun h => a P h k * y h) (fun h => a Q h k * y' h) h) as [g [G [_ L]]]; auto.
  { rewrite <- U', U. apply F; lia. } { simpl. rewrite (proj1 (ea h N)) in *. nra. }
  simpl in L. destruct (Nat.eq_dec g i) as [->|Ng]; [destruct Zk as [Z1 Z2]; rewrite Z1, Z2 in L; lra|].
  rewrite (proj1 (ea g Ng)) in L. apply factor in L as [Ag rise]; auto.
  assert (y' g <= y' h) by (apply T; [lia|rewrite (proj1 (ea g Ng)); auto]).
  (* the bottleneck of the gainer: somebody loses more *)
  destruct (Cy g G) as [E|[j Bg]]; [rewrite <- (proj2 (ea g Ng)) in E; specialize (Bd' g ltac:(lia)); rewrite E in Bd';
  simpl in Bd'; lra|]. destruct (lose g j g Bg G) as [f [Ff [Lf le]]]; [rewrite (proj1 (ea g Ng));
  apply Rmult_lt_compat_l; [apply Bg|auto]|]. specialize (worst f Ff Lf); simpl in worst; lra. Qed.
(* {thm-foundations-sp} Q differs from P only in what user i says; with the shares a Q i j * y' i it reaches the true
   level z. *)
Theorem strategy_proofness P Q i y y' z : model P -> model Q -> n Q = n P -> m Q = m P ->
  (forall h, w Q h = w P h) -> (forall h, h <> i -> (forall j, a Q h j = a P h j) /\ b Q h = b P h) ->
  feasible P y -> certified P y -> feasible Q y' -> certified Q y' -> (i < n P)%nat ->
  within z (b P i) -> (∀ j < m P, a P i j * z <= a Q i j * y' i) -> z <= y i.
Proof. intros MP MQ en em ew ea F Cy F' Cy' I Bz lie. suppose gain.
  destruct (Cy i I) as [E|[l Bi]]; [rewrite E in Bz; simpl in Bz; lra|]. assert (y' i < y i).
  { apply (one_user_changes P Q y y' i); auto; try (apply rate_ge0; auto); [intros E; rewrite E in Bz; simpl in Bz;
    lra|]. intros j J A. specialize (lie j J). nra. }
  destruct (dominant P MP i I) as [k [K D]]. specialize (lie k K); rewrite D in lie. destruct F' as [Y0' _].
  specialize (Y0' i ltac:(lia)). assert (a Q i k <= w P i) by (rewrite <- ew; apply (rate_le Q MQ); lia).
  destruct Bi as [_ [_ [A _]]]. pose proof (rate_le P MP i l I). nra. Qed.
Lemma equal_weights P Q c y : 0 < c -> n Q = n P -> m Q = m P ->
  (forall i j, (i < n P)%nat -> a Q i j = c * a P i j) -> (∀ i < n P, b Q i = option_map (fun u => u / c) (b P i)) ->
  feasible Q y -> certified Q y -> feasible P (fun i => c * y i) /\ certified P (fun i => c * y i).
Proof. intros Cp en em ea eb [F0 [Fb Fu]] Ce. assert (us : forall j, use P (fun i => c * y i) j = use Q y j).
  { intros j; unfold use; rewrite en; apply sum_ext; intros; rewrite ea by lia; lra. }
  split; [split; [|split]|]; intros i I.
  - specialize (F0 i ltac:(lia)); nra.
  - specialize (Fb i ltac:(lia)); rewrite eb in Fb by auto. destruct (b P i) as [u|]; simpl in *; [|auto].
    apply Rmult_le_compat_l with (r := c) in Fb; [|lra]. replace (c * (u / c)) with u in Fb by (field; lra). lra.
  - rewrite us; apply Fu; lia.
  - destruct (Ce i ltac:(lia)) as [E|[j [J [U [A B]]]]]; [left|right; exists j].
    + rewrite eb in E by auto. destruct (b P i) as [u|]; [|discriminate]. injection E as E. f_equal.
      rewrite <- E; field; lra.
    + rewrite ea in A by auto. split; [lia|split; [rewrite us; auto|split; [nra|]]]. intros h H Ah.
      apply Rmult_le_compat_l; [lra|]. apply B; [lia|rewrite ea by auto; nra]. Qed.
(* {whole} thm-foundations-certificate thm-foundations-filling thm-foundations-si thm-foundations-ef thm-foundations-po thm-foundations-sp
   lem-foundations-one lem-foundations-envy lem-foundations-more *)
