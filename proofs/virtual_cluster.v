(* Virtual clusters on one pool of divisible VMs: floors that are stated, and rounds. *)
From Coq Require Import FunctionalExtensionality.
From proofs Require Import sums one_level.
Local Open Scope R_scope.
(* {model} *)
(* The pool T if users state the floors g; user i may state x instead. *)
Definition stated T (g : nat -> R) := Pool (n T) (C T) (w T) g (up T).
Definition instead (g : nat -> R) i x h := if Nat.eqb h i then x else g h.
Definition floors (g : nat -> R) := forall i, 0 <= g i <= 1.
(* The tariff, and what user i pays for the fractions y, and gains at the level Y; a VM is worth v to it. *)
Record tariff := Tariff { low : R; high : R }.
Definition proper t := 0 <= low t < high t.
Definition cost t P (y : nat -> R) i := high t * (lo P i * w P i) + low t * (w P i * y i - lo P i * w P i).
Definition bill t P Y i := cost t P (at_level P Y) i.
Definition gain t v P Y i := v * (w P i * at_level P Y i) - bill t P Y i.
(* With less than f its job fails, which is worse than any other outcome. The floor x is the only best one (a best one)
   if all others are worse (no better). *)
Definition runs P Y (f : R) i := f <= at_level P Y i.
Definition only_best t v T g i f x := 0 <= x <= 1 /\ forall z X Z, 0 <= z <= 1 -> z <> x ->
  pool_level (stated T (instead g i x)) X -> pool_level (stated T (instead g i z)) Z ->
  runs (stated T (instead g i x)) X f i /\ (runs (stated T (instead g i z)) Z f i ->
  gain t v (stated T (instead g i z)) Z i < gain t v (stated T (instead g i x)) X i).
Definition a_best t v T g i f x := 0 <= x <= 1 /\ forall z X Z, 0 <= z <= 1 ->
  pool_level (stated T (instead g i x)) X -> pool_level (stated T (instead g i z)) Z ->
  runs (stated T (instead g i z)) Z f i -> runs (stated T (instead g i x)) X f i /\
  gain t v (stated T (instead g i z)) Z i <= gain t v (stated T (instead g i x)) X i.
(* top is the level of the pool if i states 0 and the others g. *)
Definition leaves T g i top := cluster T /\ (forall h, 0 < w T h) /\ floors g /\ (i < n T)%nat /\
  pool_level (stated T (instead g i 0)) top.
(* All minima fit, so everybody is served; and nobody does better with another floor. *)
Definition equilibrium t (v f : nat -> R) T g := (exists Y, pool_level (stated T g) Y) /\
  ∀ i < n T, a_best t (v i) T g i (f i) (g i).
(* {end} *)
Lemma same_floor g i : instead g i (g i) = g.
Proof. apply functional_extensionality; intros h; unfold instead. destruct (Nat.eqb_spec h i) as [->|]; auto. Qed.
Lemma at_i g i x : instead g i x i = x. Proof. unfold instead; rewrite Nat.eqb_refl; auto. Qed.
Lemma cost_is t P y i : cost t P y i = w P i * (low t * y i + (high t - low t) * lo P i).
Proof. unfold cost. ring. Qed.
(* The use at a level, and what a level is *)
Lemma fractions T g Y i : cluster T -> (forall i, g i <= 1) -> Y <= 1 -> at_level (stated T g) Y i = Rmax (g i) Y.
Proof. intros Cl F Y1. specialize (F i). unfold at_level; simpl. rewrite (Cl i). minmax. Qed.
Definition use T g Y := Σ i < n T, w T i * Rmax (g i) Y.
Lemma use_is T g Y : cluster T -> (forall i, g i <= 1) -> Y <= 1 ->
  used (stated T g) (at_level (stated T g) Y) = use T g Y.
Proof. intros Cl F Y1. apply sum_ext; intros i _. rewrite fractions by auto. auto. Qed.
Lemma use_mono T g g' Y Z : (forall i, 0 < w T i) -> (∀ i < n T, Rmax (g i) Y <= Rmax (g' i) Z) ->
  use T g Y <= use T g' Z.
Proof. intros W L. apply sum_le; intros i I. apply Rmult_le_compat_l; [apply Rlt_le|]; auto. Qed.
Lemma level_is T g Y : cluster T -> (forall i, g i <= 1) -> (pool_level (stated T g) Y <-> Y <= 1 /\ use T g Y <= C T /\
  forall z, Y < z -> z <= 1 -> C T < use T g z).
Proof. intros Cl F. unfold pool_level. split; intros [Y1 [U H]]; rewrite ?use_is in * by auto; split; auto; split; auto;
  intros z Z Z1; specialize (H z Z Z1); rewrite use_is in * by auto; auto. Qed.
Lemma level_of P Y : cluster P -> (forall i, lo P i <= 1) -> (pool_level P Y <-> Y <= 1 /\ use P (lo P) Y <= C P /\
  forall z, Y < z -> z <= 1 -> C P < use P (lo P) z).
Proof. destruct P. apply level_is. Qed.
Lemma only_level P Y Z : pool_level P Y -> pool_level P Z -> Y = Z.
Proof. intros [Y1 [U H]] [Z1 [V K]]. destruct (Rtotal_order Y Z) as [L|[|L]]; auto; exfalso; [specialize (H Z L
  Z1)|specialize (K Y L Y1)]; lra. Qed.
Lemma some_level P : model P -> cluster P -> exists Y, pool_level P Y.
Proof. intros M Cl. destruct (there_is_a_level P M) as [L [U H]]. assert (E : 1 <= L -> forall i, at_level P L i =
  at_level P 1 i). { intros L1 i. pose proof (proj2 (proj1 M i)) as B. unfold up_to, at_level in *. rewrite (Cl i) in *.
  limits. } destruct (Rle_lt_dec 1 L) as [L1|L1].
  - exists 1. split; [lra|split; [|intros; lra]]. apply Rle_trans with (2 := U), Req_le, sum_ext; intros i _. rewrite E;
    auto.
  - destruct H as [H|All]; [exists L; split; [lra|split; auto]|]. exists 1. split; [lra|split; [|intros; lra]]. apply
    Rle_trans with (2 := U), sum_le; intros i I. apply Rmult_le_compat_l; [apply Rlt_le, M|]. specialize (All i I).
    rewrite (Cl i) in All. injection All as <-. unfold at_level; rewrite (Cl i). apply Rmin_r. Qed.
Section truth.
Variables (T : pool) (g : nat -> R) (i : nat) (top : R).
Hypothesis L : leaves T g i top.
Lemma instead_floors x : 0 <= x <= 1 -> floors (instead g i x).
Proof. destruct L as [_ [_ [F _]]]. intros X h; unfold instead; destruct (Nat.eqb h i); auto. Qed.
(* A floor up to the level that is left without it changes nothing; a larger one lowers the level. *)
Lemma lowers x Y : 0 <= x <= 1 -> pool_level (stated T (instead g i x)) Y -> Y <= top /\ (x <= top -> Y = top).
Proof. destruct L as [Cl [W [F [I Top]]]]. intros X Hy. pose proof (fun z Z h => proj2 (instead_floors z Z h)) as B.
  apply level_is in Hy as [Y1 [U H]]; auto. apply level_is in Top as [T1 [V K]]; [|auto|apply B; lra]. assert (Le : Y <=
  top). { suppose Gt. specialize (K Y Gt Y1). pose proof (use_mono T (instead g i 0) (instead g i x) Y Y W) as Q. assert
  (use T (instead g i 0) Y <= use T (instead g i x) Y); [|lra]. apply Q. intros h _. unfold instead. destruct (Nat.eqb h
  i); minmax. } split; [auto|]. intros Lt. apply Rle_antisym; [auto|]. suppose G. specialize (H top G T1). assert (use T
  (instead g i x) top <= use T (instead g i 0) top); [|lra]. apply use_mono; auto. intros h _. unfold instead. destruct
  (Nat.eqb h i); minmax. Qed.
Lemma has x Y : 0 <= x <= 1 -> pool_level (stated T (instead g i x)) Y ->
  at_level (stated T (instead g i x)) Y i = Rmax x top.
Proof. destruct L as [Cl _]. intros X Hy. destruct (lowers x Y X Hy) as [_ E]. pose proof (lowers x Y X Hy). rewrite
  fractions; [|auto|intros; apply instead_floors; auto|apply Hy]. rewrite at_i. destruct (Rle_lt_dec x top); [rewrite E
  by auto; auto|minmax]. Qed.
Lemma gains t v x Y : 0 <= x <= 1 -> pool_level (stated T (instead g i x)) Y ->
  gain t v (stated T (instead g i x)) Y i = w T i * ((v - low t) * Rmax x top - (high t - low t) * x).
Proof. intros X Hy. unfold gain, bill, cost. rewrite has by auto. simpl. rewrite at_i. ring. Qed.
End truth.
(* {thm-virtual_cluster-truth} Part 1 *)
Theorem what_a_floor_brings t T g i top x z X Z : proper t -> leaves T g i top -> 0 <= x <= z -> z <= 1 ->
  pool_level (stated T (instead g i x)) X -> pool_level (stated T (instead g i z)) Z -> let P :=
  stated T (instead g i x) in let Q := stated T (instead g i z) in at_level P X i = Rmax x top /\
  at_level P X i <= at_level Q Z i /\ bill t P X i <= bill t Q Z i /\ (z <= top -> at_level P X i = at_level Q Z i /\
  (x < z -> bill t P X i < bill t Q Z i)).
Proof. intros Pt L Xz Z1 Hx Hz P Q. pose proof (has T g i top L x X ltac:(lra) Hx) as Ex. pose proof (has T g i top L z
  Z ltac:(lra) Hz) as Ez. fold P in Ex. fold Q in Ez. unfold bill. rewrite !cost_is, Ex, Ez. destruct L as [_ [W _]].
  subst P Q. simpl. rewrite !at_i. specialize (W i). unfold proper in Pt. assert (Rmax x top <= Rmax z top) by minmax.
  split; [auto|split; [auto|split]]; [apply Rmult_le_compat_l; [lra|nra]|]. intros Lt. split; [minmax|]. intros Xl.
  apply Rmult_lt_compat_l; [auto|]. replace (Rmax z top) with (Rmax x top) by minmax. nra. Qed.
(* Per VM of the wish *)
Definition per_vm t v top x := (v - low t) * Rmax x top - (high t - low t) * x.
Lemma compare t v T g i top f x : leaves T g i top -> 0 <= x <= 1 -> f <= Rmax x top -> (forall z, 0 <= z <= 1 ->
  z <> x -> f <= Rmax z top -> per_vm t v top z < per_vm t v top x) -> only_best t v T g i f x.
Proof. intros L X R H. split; [auto|]. intros z Hx Hz Z N Px Pz. unfold runs. rewrite !(has T g i top L) by auto.
  rewrite !(gains T g i top L) by auto. split; [auto|]. intros Rz. apply Rmult_lt_compat_l; [apply L|]. apply H; auto.
  Qed.
(* {thm-virtual_cluster-truth} Part 2 *)
Theorem all_or_nothing t v T g i top f : proper t -> low t <= v -> leaves T g i top -> 0 <= f <= top ->
  (top < 1 -> let vi := high t + (high t - low t) * (top / (1 - top)) in (v < vi -> only_best t v T g i f 0) /\
  (vi < v -> only_best t v T g i f 1)) /\ (top = 1 -> only_best t v T g i f 0).
Proof. intros Pt V L Ft. unfold proper in Pt. assert (T1 : top <= 1) by apply L. split.
  - intros Lt vi. assert (E : (vi - high t) * (1 - top) = (high t - low t) * top) by (unfold vi; field; lra). assert (H0
    : 0 <= vi - high t) by (suppose N; nra). split; intros Vi; apply (compare t v T g i top); auto; try lra; try
    (minmax; fail); intros z Z N _; unfold per_vm.
    + rewrite (Rmax_right 0) by lra. assert (0 <= (v - low t) * top) by nra. unfold Rmax. destruct (Rle_dec z top);
      [nra|]. destruct (Rlt_le_dec v (high t)); [nra|]. assert ((v - high t) * (1 - top) < (high t - low t) * top) by
      (rewrite <- E; apply Rmult_lt_compat_r; lra). assert ((v - high t) * z <= v - high t) by nra. nra.
    + rewrite (Rmax_left 1) by lra. assert ((high t - low t) * top < (v - high t) * (1 - top)) by (rewrite <- E; apply
      Rmult_lt_compat_r; lra). unfold Rmax. destruct (Rle_dec z top); nra.
  - intros E. apply (compare t v T g i top); auto; try lra; try (minmax; fail). intros z Z N _. unfold per_vm. rewrite E.
    rewrite !Rmax_right by lra. nra. Qed.
(* {thm-virtual_cluster-truth} Part 3 *)
Theorem truth_or_all t v T g i top f : leaves T g i top -> 0 <= f <= 1 -> top < f ->
  (v < high t -> only_best t v T g i f f) /\ (high t < v -> only_best t v T g i f 1).
Proof. intros L F Lt. split; intros Vh; apply (compare t v T g i top); auto; try lra; try (minmax; fail); intros z Z N
  R; unfold per_vm; assert (f <= z) by minmax; rewrite !Rmax_left by lra; nra. Qed.
(* Smaller is better, as long as the job runs. *)
Lemma smaller t v T g i top x z X Z : proper t -> low t <= v < high t -> leaves T g i top -> 0 <= x < z -> z <= 1 ->
  pool_level (stated T (instead g i x)) X -> pool_level (stated T (instead g i z)) Z ->
  gain t v (stated T (instead g i z)) Z i < gain t v (stated T (instead g i x)) X i.
Proof. intros Pt V L Lt Z1 Px Pz. unfold proper in Pt. rewrite !(gains T g i top L) by (auto; lra). apply
  Rmult_lt_compat_l; [apply L|minmax]. Qed.
Lemma fits_level T g : cluster T -> (forall i, 0 < w T i) -> floors g -> used T g <= C T -> exists Y,
  pool_level (stated T g) Y.
Proof. intros Cl W F U. apply some_level; auto. split; [|exact U]. intros i. split; [apply W|]. unfold up_to; simpl.
  rewrite (Cl i). apply F. Qed.
Lemma level_fits T g Y : cluster T -> (forall i, 0 < w T i) -> (forall i, g i <= 1) -> pool_level (stated T g) Y ->
  used T g <= C T.
Proof. intros Cl W F H. apply level_is in H as [_ [U _]]; auto. apply Rle_trans with (2 := U), sum_le; intros i _. apply
  Rmult_le_compat_l; [apply Rlt_le, W|apply Rmax_l]. Qed.
Lemma fewer T g g' : (forall i, 0 < w T i) -> (∀ i < n T, g' i <= g i) -> used T g <= C T -> used T g' <= C T.
Proof. intros W L U. apply Rle_trans with (2 := U), sum_le; intros i I. apply Rmult_le_compat_l; [apply Rlt_le|]; auto.
  Qed.
(* {thm-virtual_cluster-truth} Part 3: when the truth is a best response *)
Theorem when_truth_is_best t v T g i top f : proper t -> low t <= v <= high t -> leaves T g i top -> 0 <= f <= 1 ->
  used T (instead g i 1) <= C T -> (a_best t v T g i f f <-> top < f \/ f = 0).
Proof. intros Pt V L F M. unfold proper in Pt. pose proof L as [Cl [W [G [I Ht]]]]. specialize (W i) as Wi. split.
  - intros [_ B]. destruct (Rlt_le_dec top f) as [|Le]; [auto|right]. destruct (Rle_lt_or_eq_dec 0 f) as [P|]; [lra|
    |auto]. destruct (fits_level T (instead g i f)) as [X Hx]; auto; [apply (instead_floors T g i top L); auto| |]. {
    apply (fewer T (instead g i 1)); auto. intros h _. unfold instead. destruct (Nat.eqb h i); lra. } destruct (B 0 X
    top ltac:(lra) Hx Ht) as [_ Q]; [unfold runs; rewrite (has T g i top L); [minmax|lra|auto]|]. rewrite !(gains T g i
    top L) in Q by (auto; lra). apply Rmult_le_reg_l in Q; [|auto]. rewrite !Rmax_right in Q by lra. nra.
  - intros Or. split; [auto|]. intros z X Z Hz Px Pz. unfold runs. rewrite !(has T g i top L) by auto. rewrite !(gains T
    g i top L) by auto. intros R. split; [apply Rmax_l|]. apply Rmult_le_compat_l; [lra|]. destruct Or as [Lt|E];
    [assert (f <= z) by minmax; rewrite !Rmax_left by lra; nra|]. rewrite E. minmax. Qed.
(* The best floor of part 4 *)
Definition own_or_0 top f := if Rle_dec f top then 0 else f.
Lemma best_floor t v T g i top f x : proper t -> low t <= v < high t -> leaves T g i top -> 0 <= f <= 1 ->
  0 <= x <= 1 -> (exists Y, pool_level (stated T (instead g i f)) Y) -> (exists Y,
  pool_level (stated T (instead g i x)) Y) -> (a_best t v T g i f x <-> x = own_or_0 top f).
Proof. intros Pt V L F Hx [Yf Hf] [Yx Hy]. pose proof L as [_ [_ [_ [_ Ht]]]]. pose proof (smaller t v T g i top) as Sm.
  unfold own_or_0. split.
  - intros [_ B]. assert (no : forall z Z, 0 <= z <= 1 -> pool_level (stated T (instead g i z)) Z -> f <= Rmax z top ->
    f <= Rmax x top /\ x <= z). { intros z Z Z1 Pz R. destruct (B z Yx Z Z1 Hy Pz) as [Rx Q]; [unfold runs; rewrite (has
    T g i top L); auto|]. unfold runs in Rx. rewrite (has T g i top L) in Rx by auto. split; [auto|]. suppose Lt.
    specialize (Sm z x Z Yx Pt V L ltac:(lra) ltac:(lra) Pz Hy). lra. } destruct (Rle_dec f top).
    + destruct (no 0 top ltac:(lra) Ht) as [_ Q]; [minmax|lra].
    + destruct (no f Yf F Hf (Rmax_l _ _)) as [R Q]. minmax.
  - intros E. split; [auto|]. intros z X Z Z1 Px Pz. unfold runs. rewrite !(has T g i top L) by auto. intros R. assert
    (Q : f <= Rmax x top /\ x <= z) by (destruct (Rle_dec f top); minmax). split; [apply Q|]. destruct (Rle_lt_or_eq_dec
    _ _ (proj2 Q)) as [Lt|Eq]; [apply Rlt_le, Sm; auto; lra|]. subst z. rewrite (only_level _ Z X Pz Px). lra. Qed.
Lemma some_leaves T g Y i : cluster T -> (forall h, 0 < w T h) -> floors g -> (i < n T)%nat ->
  pool_level (stated T g) Y -> exists top, leaves T g i top.
Proof. intros Cl W F I H. apply level_fits in H; auto; [|intros; apply F]. destruct (fits_level T (instead g i 0)) as
  [top Ht]; auto; [intros h; unfold instead; destruct (Nat.eqb h i); [lra|apply F]| |exists top; unfold leaves; auto].
  apply (fewer T g); auto. intros h _. unfold instead. specialize (F h). destruct (Nat.eqb h i); lra. Qed.
(* Floors up to the level do not change it. *)
Lemma same_level T f g Y : cluster T -> floors f -> floors g -> (∀ i < n T, g i = own_or_0 Y (f i)) ->
  (pool_level (stated T g) Y <-> pool_level (stated T f) Y).
Proof. intros Cl F G St. rewrite !level_is; auto; try (intros; apply F); try (intros; apply G). assert (same : forall z,
  Y <= z -> use T g z = use T f z). { intros z Zy. apply sum_ext; intros h H'. rewrite St by auto. unfold own_or_0. f_equal.
  destruct (Rle_dec (f h) Y); [|auto]. pose proof (F h). minmax. } split; intros [Y1 [U H]]; (split; [auto|split;
  [rewrite same in * by lra; auto|]]); intros z Z Z1; specialize (H z Z Z1); rewrite same in * by lra; auto. Qed.
(* {thm-virtual_cluster-truth} Part 4: f are the true floors, and Y is the level under truth. *)
Theorem one_equilibrium t v T f g Y : proper t -> (forall i, low t <= v i < high t) -> cluster T -> (forall i,
  0 < w T i) -> floors f -> pool_level (stated T f) Y -> floors g -> (equilibrium t v f T g <-> ∀ i < n T,
  g i = if Rle_dec (f i) Y then 0 else f i).
Proof. intros Pt V Cl W F Hy G. assert (U := level_fits T f Y Cl W (fun i => proj2 (F i)) Hy). assert (may : (∀ i < n T,
  g i <= f i) -> ∀ i < n T, exists Z, pool_level (stated T (instead g i (f i))) Z). { intros Le i I. apply fits_level;
  auto; [intros h; unfold instead; destruct (Nat.eqb h i); auto|]. apply (fewer T f); auto. intros h H. unfold instead.
  destruct (Nat.eqb_spec h i) as [->|]; [lra|auto]. } split.
  - intros [[L Hl] Eq]. assert (own : ∀ i < n T, exists Z, pool_level (stated T (instead g i (g i))) Z) by (intros i _;
    exists L; rewrite same_floor; auto). assert (Le : ∀ i < n T, g i <= f i). { intros i I. suppose Lt. destruct
    (some_leaves T g L i) as [x Hx]; auto. assert (E : g i = own_or_0 x (f i)); [|unfold own_or_0 in E; pose proof (F i);
    destruct (Rle_dec (f i) x); lra]. apply (best_floor t (v i) T g i x); auto. apply fits_level; auto; [intros h;
    unfold instead; destruct (Nat.eqb h i); auto|]. apply (fewer T g); auto; [|apply (level_fits T g L); auto; intros;
    apply G]. intros h _. unfold instead. destruct (Nat.eqb_spec h i) as [->|]; lra. } assert (St : ∀ i < n T, g i =
    own_or_0 L (f i)). { intros i I. destruct (some_leaves T g L i) as [x Hx]; auto. assert (E : g i = own_or_0 x (f i)) by
    (apply (best_floor t (v i) T g i x); auto). pose proof Hl as Hl'. rewrite <- (same_floor g i) in Hl'. destruct
    (lowers T g i x Hx (g i) L (G i) Hl') as [Lx Ex]. pose proof (F i). unfold own_or_0 in *. destruct (Rle_dec (f i) x);
    [rewrite Ex by lra; destruct (Rle_dec (f i) x); lra|]. destruct (Rle_dec (f i) L); lra. } intros i I. rewrite
    (only_level (stated T f) Y L Hy); [apply St; auto|]. apply (same_level T f g L); auto.
  - intros St. assert (Hl : pool_level (stated T g) Y) by (apply (same_level T f); auto). split; [exists Y; auto|].
    intros i I. destruct (some_leaves T g Y i) as [x Hx]; auto. pose proof Hl as Hl'. rewrite <- (same_floor g i) in
    Hl'. destruct (lowers T g i x Hx (g i) Y (G i) Hl') as [Lx Ex]. apply (best_floor t (v i) T g i x); auto.
    + apply may; auto. intros h H. rewrite St by auto. pose proof (F h). destruct (Rle_dec (f h) Y); lra.
    + exists Y; auto.
    + specialize (St i I). rewrite St in *. unfold own_or_0. pose proof (F i). destruct (Rle_dec (f i) Y), (Rle_dec (f i)
      x); lra. Qed.
(* {thm-virtual_cluster-truth} Part 4: VMs, and what the provider loses *)
Theorem what_the_provider_loses t T f g Y : cluster T -> floors f -> floors g -> model (stated T f) ->
  pool_level (stated T f) Y -> (∀ i < n T, g i = if Rle_dec (f i) Y then 0 else f i) -> pool_level (stated T g) Y /\
  (∀ i < n T, at_level (stated T g) Y i = at_level (stated T f) Y i) /\
  (Σ i < n T, bill t (stated T f) Y i) - (Σ i < n T, bill t (stated T g) Y i) = (high t - low t) *
  (Σ i < n T, if Rle_dec (f i) Y then f i * w T i else 0) /\ (wanted T <= C T ->
  (Σ i < n T, if Rle_dec (f i) Y then f i * w T i else 0) = Σ i < n T, f i * w T i).
Proof. intros Cl F G M Hy St. split; [apply (same_level T f g Y); auto|]. assert (E : ∀ i < n T, at_level (stated T g) Y
  i = at_level (stated T f) Y i). { intros i I. rewrite !fractions; auto; try apply Hy; try (intros; apply F); try
  (intros; apply G). rewrite St by auto. pose proof (F i). destruct (Rle_dec (f i) Y); [minmax|auto]. } split;
  [auto|split].
  - assert (X : (Σ i < n T, bill t (stated T f) Y i) = (Σ i < n T, bill t (stated T g) Y i) + (high t - low t) * (Σ i <
    n T, if Rle_dec (f i) Y then f i * w T i else 0)); [|lra]. rewrite Rmult_comm, <- sum_mul, <- sum_plus. apply
    sum_ext; intros i I. unfold bill, cost. rewrite (E i I). simpl. rewrite St by auto. destruct (Rle_dec (f i) Y);
    ring.
  - intros En. rewrite (enough_for_all (stated T f) Y) by auto. apply sum_ext; intros i I. pose proof (F i). destruct
    (Rle_dec (f i) 1); [auto|lra]. Qed.
(* ------------------------------------------------------------------------------------------------------- rounds *)
(* {model} *)
(* The users that are left before round r, the room that the others leave, their scarcity, and queue A *)
Fixpoint left P r i : bool := match r with O => true | S k => if left P k i then
  if Rle_dec ((C P - Σ h < n P, if left P k h then 0 else w P h * lo P h) / Σ h < n P, if left P k h then w P h else 0)
    (lo P i) then false else true else false end.
Definition room P r := C P - Σ h < n P, if left P r h then 0 else w P h * lo P h.
Definition tau P r := room P r / Σ h < n P, if left P r h then w P h else 0.
Definition queue_A P r i := left P r i = true /\ tau P r <= lo P i.
Definition goes_on P r := (∃ i < n P, queue_A P r i) /\ ∃ i < n P, left P (S r) i = true.
(* Round e is the last. *)
Definition last P e := (∀ r < e, goes_on P r) /\ ~ goes_on P e.
(* {end} *)
Definition weights P r := Σ h < n P, if left P r h then w P h else 0.
Lemma left_next P r i :
  left P (S r) i = if left P r i then if Rle_dec (tau P r) (lo P i) then false else true else false.
Proof. reflexivity. Qed.
Lemma left_before P r i : left P (S r) i = true -> left P r i = true.
Proof. rewrite left_next. destruct (left P r i); auto. Qed.
Section rounds.
Variables (P : pool) (e : nat).
Hypotheses (Cl : cluster P) (W : forall i, 0 < w P i) (N : (0 < n P)%nat) (E : ∀ r < e, goes_on P r).
Lemma weights_gt0 r i : (i < n P)%nat -> left P r i = true -> 0 < weights P r.
Proof. intros I L. apply sum_gt0 with i; auto; [intros h _; specialize (W h); destruct (left P r h); lra|rewrite L;
  auto]. Qed.
Lemma tau_room r : 0 < weights P r -> tau P r * weights P r = room P r.
Proof. intros G. unfold tau. fold (weights P r). field. lra. Qed.
(* What queue A takes is at least its part; so the others are left with no more. *)
Lemma round r : 0 < weights P r -> room P (S r) <= tau P r * weights P (S r).
Proof. intros G. pose proof (tau_room r G) as Er. assert (Q : (Σ h < n P, if left P r h then 0 else w P h * lo P h) + (Σ
  h < n P, if left P r h then w P h else 0) * tau P r <= (Σ h < n P, if left P (S r) h then 0 else w P h * lo P h) + (Σ
  h < n P, if left P (S r) h then w P h else 0) * tau P r); [|unfold room, weights in *; lra]. rewrite <- !sum_mul, <-
  !sum_plus. apply sum_le; intros h _. rewrite left_next. specialize (W h). destruct (left P r h); [|lra]. destruct
  (Rle_dec (tau P r) (lo P h)); nra. Qed.
Lemma someone : ∃ i < n P, left P e i = true.
Proof. destruct e as [|k]; [exists O; auto|]. apply (E k). lia. Qed.
Lemma falls r : (r <= e)%nat -> tau P e <= tau P r.
Proof. intros R. remember (e - r)%nat as k. revert r R Heqk. induction k as [|k IH]; intros r R Eq.
  - replace r with e by lia. lra.
  - apply Rle_trans with (tau P (S r)); [apply IH; lia|]. destruct (E r ltac:(lia)) as [_ [i [I L]]]. pose proof
    (weights_gt0 (S r) i I L) as G. apply Rmult_le_reg_r with (weights P (S r)); auto. rewrite tau_room by auto. apply
    round, weights_gt0 with i; auto. apply left_before; auto. Qed.
Lemma out r i : (r <= e)%nat -> left P r i = false -> tau P e <= lo P i.
Proof. induction r as [|r IH]; intros R L; [discriminate|]. rewrite left_next in L. destruct (left P r i); [|apply IH;
  auto; lia]. destruct (Rle_dec (tau P r) (lo P i)); [|discriminate]. pose proof (falls r ltac:(lia)). lra. Qed.
Definition how_many r := Σ i < n P, if left P r i then 1 else 0.
Lemma fewer_left r : (r <= e)%nat -> how_many r <= INR (n P) - INR r.
Proof. induction r as [|r IH]; intros R.
  - unfold how_many. simpl. clear. induction (n P) as [|k I]; [simpl; lra|rewrite S_INR; simpl; lra].
  - specialize (IH ltac:(lia)). destruct (E r ltac:(lia)) as [[i [I [L T]]] _]. rewrite S_INR. unfold how_many in *.
    pose proof (sum_gap (n P) (fun i => if left P (S r) i then 1 else 0) (fun i => if left P r i then 1 else 0) i 1) as
    Q. assert (sum (n P) (fun i => if left P (S r) i then 1 else 0) <= sum (n P) (fun i => if left P r i then 1 else 0)
    - 1); [|lra]. apply Q; auto.
    + intros h _. pose proof (left_before P r h). destruct (left P (S r) h), (left P r h); try lra; discriminate (H
      eq_refl).
    + rewrite left_next, L. destruct (Rle_dec (tau P r) (lo P i)); [lra|tauto]. Qed.
Lemma few : (e < n P)%nat.
Proof. destruct someone as [i [I L]]. pose proof (fewer_left e (le_n e)). apply INR_lt. assert (1 <= how_many e);
  [|lra]. replace 1 with (if left P e i then 1 else 0) by (rewrite L; auto). apply (sum_term (n P) (fun i => if left P e
  i then 1 else 0)); auto. intros h _. destruct (left P e h); lra. Qed.
End rounds.
Lemma goes_on_dec P r : goes_on P r \/ ~ goes_on P r.
Proof. unfold goes_on. destruct (dec_ex (n P) (queue_A P r)); [|destruct (dec_ex (n P) (fun i => left P (S r) i =
  true))| right; tauto]; [| |left; auto|right; tauto]; intros i; [unfold queue_A; destruct (left P r i), (Rle_dec (tau P
  r) (lo P i)); [left; auto|right..]; intuition discriminate|apply Bool.bool_dec]. Qed.
(* {thm-virtual_cluster-rounds} Part 1 *)
Theorem rounds_end P : (forall i, 0 < w P i) -> (0 < n P)%nat -> (exists e, last P e) /\ forall e, last P e ->
  (S e <= n P)%nat /\ ∀ r < e, tau P (S r) <= tau P r.
Proof. intros W N. split.
  - assert (H : forall k, (∀ r < k, goes_on P r) \/ exists e, last P e). { induction k as [|k [All|]]; [left; lia|
    |auto]. destruct (goes_on_dec P k) as [G|]; [left|right; exists k; split; auto]. intros r R. destruct (Nat.eq_dec r
    k) as [->|]; [auto|apply All; lia]. } destruct (H (n P)) as [All|]; [|auto]. pose proof (few P (n P) N All). lia.
  - intros e [E _]. split; [apply (few P e N E)|]. intros r R. apply (falls P (S r) W); auto. intros k K. apply E. lia.
    Qed.
(* {thm-virtual_cluster-rounds} Part 2 *)
Theorem filling_backwards P e : cluster P -> (forall i, 0 < w P i) -> floors (lo P) -> (0 < n P)%nat -> last P e ->
  (used P (lo P) <= C P <-> 0 <= room P (S e)) /\ (used P (lo P) <= C P -> pool_level P (Rmin 1 (tau P e))).
Proof. intros Cl W F N [E No]. destruct (someone P e N E) as [g [G Lg]]. pose proof (weights_gt0 P W e g G Lg) as We.
  pose proof (tau_room P e We) as Er. assert (Out : forall i, left P e i = false -> tau P e <= lo P i) by (intros i L;
  apply (out P e W N E e i); auto). (* if those that are left have floors up to tau, tau is the level that uses all *)
  assert (full : (∀ i < n P, left P e i = true -> lo P i <= tau P e) -> use P (lo P) (tau P e) = C P). { intros Le.
  unfold room, weights in Er. assert (X : use P (lo P) (tau P e) = (Σ h < n P, if left P e h then 0 else w P h * lo P h)
  + (Σ h < n P, if left P e h then w P h else 0) * tau P e); [|lra]. unfold use. rewrite <- sum_mul, <- sum_plus. apply
  sum_ext; intros i I. specialize (Out i). specialize (Le i I). destruct (left P e i); [rewrite Rmax_right by
  auto|rewrite Rmax_left by auto]; lra. } assert (is_level : (∀ i < n P, left P e i = true -> lo P i <= tau P e) -> tau
  P e <= 1 -> pool_level P (tau P e)). { intros Le T1. apply level_of; [auto|intros; apply F|]. specialize (full Le).
  split; [auto|split; [lra|]]. intros z Z _. rewrite <- full. apply sum_lt with g; auto; [intros h _; apply
  Rmult_le_compat_l; [apply Rlt_le, W|minmax]|]. apply Rmult_lt_compat_l; [apply W|]. specialize (Le g G Lg). minmax. }
  destruct (dec_ex (n P) (queue_A P e)) as [Q|Q]. { intros i. unfold queue_A. destruct (left P e i), (Rle_dec (tau P e)
  (lo P i)); [left; auto|right..]; intuition discriminate. }
  - (* nobody is left *) assert (gone : ∀ i < n P, left P (S e) i = false) by (intros i I; destruct (left P (S e) i)
    eqn:L; auto; exfalso; apply No; split; [auto|exists i; auto]). assert (Re : room P (S e) = C P - used P (lo P)) by
    (unfold room, used; f_equal; apply sum_ext; intros i I; rewrite gone; auto). rewrite Re. split; [split; lra|].
    intros Fit. pose proof (round P W e We) as B. assert (Z : weights P (S e) = 0) by (apply sum_zero; intros i I;
    rewrite gone; auto). rewrite Z, Re in B. assert (Hi : ∀ i < n P, tau P e <= lo P i). { intros i I. specialize (gone
    i I). rewrite left_next in gone. destruct (left P e i) eqn:L; [|auto]. destruct (Rle_dec (tau P e) (lo P i));
    [auto|discriminate]. } assert (Eq : ∀ i < n P, left P e i = true -> lo P i <= tau P e). { intros i I L. suppose Lt.
    assert (tau P e * weights P e < Σ h < n P, if left P e h then w P h * lo P h else 0). { unfold weights. rewrite
    Rmult_comm, <- sum_mul. apply sum_lt with i; auto; [intros h H; specialize (Hi h H); destruct (left P e h); [|lra];
    apply Rmult_le_compat_l; [apply Rlt_le, W|auto]|rewrite L; apply Rmult_lt_compat_l; [apply W|auto]]. } assert (X :
    used P (lo P) = (Σ h < n P, if left P e h then 0 else w P h * lo P h) + Σ h < n P, if left P e h then w P h * lo P h
    else 0) by (rewrite <- sum_plus; apply sum_ext; intros h _; destruct (left P e h); lra). rewrite Er in H. unfold
    room in H. lra. } assert (T1 : tau P e <= 1) by (specialize (Hi g G); pose proof (F g); lra). rewrite Rmin_right by
    auto. auto.
  - (* queue A is empty *) assert (Le : ∀ i < n P, left P e i = true -> lo P i < tau P e) by (intros i I L; suppose X;
    apply Q; exists i; split; [auto|split; auto]). assert (T0 : 0 < tau P e) by (specialize (Le g G Lg); pose proof (F
    g); lra). assert (Le' : ∀ i < n P, left P e i = true -> lo P i <= tau P e) by (intros; apply Rlt_le; auto). assert
    (Re : room P (S e) = room P e). { unfold room. f_equal. apply sum_ext; intros i I. rewrite left_next. specialize (Le
    i I). destruct (left P e i); [|auto]. destruct (Rle_dec (tau P e) (lo P i)); [specialize (Le eq_refl); lra|auto]. }
    assert (Fit : used P (lo P) <= C P). { rewrite <- (full Le'). apply sum_le; intros i _. apply Rmult_le_compat_l;
    [apply Rlt_le, W|apply Rmax_l]. } split; [split; [intros _; rewrite Re, <- Er; apply Rmult_le_pos; lra|auto]|].
    intros _. destruct (Rle_lt_dec (tau P e) 1) as [T1|T1]; [rewrite Rmin_right by auto; auto|]. rewrite Rmin_left by
    lra. apply level_of; [auto|intros; apply F|]. split; [lra|split; [|intros; lra]]. rewrite <- (full Le'). apply
    use_mono; auto. intros i _. minmax. Qed.
(* ------------------------------------------------------------------------------------------------------- money *)
(* {model} *)
(* The revenue, the VMs that are guaranteed, and the mean price *)
Definition revenue t P y := Σ i < n P, cost t P y i.
Definition guaranteed P := Σ i < n P, lo P i * w P i.
Definition price t P y := revenue t P y / used P y.
(* Nothing is left, or all have all that they want. *)
Definition none_idle P y := used P y = C P \/ ∀ i < n P, y i = 1.
(* {end} *)
Lemma income t P y : revenue t P y = (high t - low t) * guaranteed P + low t * used P y.
Proof. unfold revenue, guaranteed, used. rewrite (Rmult_comm (high t - low t)), (Rmult_comm (low t)), <- !sum_mul, <-
  sum_plus. apply sum_ext; intros i _. unfold cost. ring. Qed.
(* {prop-virtual_cluster-cost} Part 1 *)
Theorem more_is_more t P y z : 0 < low t < high t ->
  revenue t P y = (high t - low t) * guaranteed P + low t * used P y /\ (used P y <= used P z <->
  revenue t P y <= revenue t P z) /\ ((forall i, 0 < w P i) -> (∀ i < n P, lo P i <= y i) ->
  revenue t P (lo P) <= revenue t P y).
Proof. intros T. rewrite !income. split; [auto|split; [split; intros; nra|]]. intros W L. assert (used P (lo P) <= used
  P y); [|nra]. apply sum_le; intros i I. apply Rmult_le_compat_l; [apply Rlt_le|]; auto. Qed.
(* {prop-virtual_cluster-cost} Part 2 *)
Theorem more_is_cheaper t P y z : 0 < low t < high t -> 0 < used P y -> price t P y = low t + (high t - low t) *
  guaranteed P / used P y /\ (0 <= guaranteed P -> revenue t P y <= revenue t P z -> price t P z <= price t P y).
Proof. intros T U. assert (E : forall x, 0 < used P x -> price t P x = low t + (high t - low t) * guaranteed P * / used
  P x) by (intros x X; unfold price; rewrite income; field; lra). split; [apply E; auto|]. intros G R. apply
  more_is_more in R; [|auto]. rewrite !E by lra. apply Rplus_le_compat_l, Rmult_le_compat_l; [nra|]. apply
  Rinv_le_contravar; auto. Qed.
(* {prop-virtual_cluster-cost} Part 3 *)
Theorem nothing_idle t P y z Y : 0 < low t < high t -> model P -> cluster P -> (forall i, 0 <= lo P i) ->
  (allowed P y -> none_idle P y -> allowed P z -> 0 < used P z -> revenue t P z <= revenue t P y /\
  price t P y <= price t P z) /\ (pool_level P Y -> allowed P (at_level P Y) /\ none_idle P (at_level P Y)).
Proof. intros T M Cl F. split.
  - intros A Id Az Uz. assert (R : revenue t P z <= revenue t P y). { apply more_is_more; auto. destruct Id as [Id|Id];
    [rewrite Id; apply Az|]. apply sum_le; intros i I. rewrite Id by auto. apply Rmult_le_compat_l; [apply Rlt_le, M|].
    destruct (proj1 Az i I) as [_ U]. unfold up_to in U. rewrite (Cl i) in U. auto. } split; [auto|]. apply
    more_is_cheaper; auto. apply sum_ge0; intros i _. apply Rmult_le_pos; [auto|apply Rlt_le, M].
  - intros H. pose proof (is_level P Y Cl H) as L. split; [split; [intros; apply between; auto|apply H]|]. destruct
    (all_handed_out P Y M L) as [|All]; [left; auto|right]. intros i I. specialize (All i I). rewrite (Cl i) in All.
    injection All as <-. auto. Qed.
(* {whole} thm-virtual_cluster-truth thm-virtual_cluster-rounds prop-virtual_cluster-cost *)
