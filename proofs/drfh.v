(* Fluid DRFH with zero demands and bounds. *)
From proofs Require Import sums lemmas gdrf.
Local Open Scope R_scope.
(* {model} *)
(* Per unit of level user i holds w i of its dominant resource; b i is the bound on its level. *)
Definition demands P := ∀ i < n P, 0 < w P i /\ (forall j, 0 <= a P i j <= w P i) /\ ∃ j < m P, a P i j = w P i.
Definition fits_bounds P (b : nat -> option R) g := possible P g /\ ∀ i < n P, within (g i) (b i).
Definition fluid_drfh P b g := fits_bounds P b g /\ lexicographically_max_min (n P) (fits_bounds P b) g.
(* {end} *)
Lemma possible_ge0 P g i : possible P g -> (i < n P)%nat -> 0 <= g i.
Proof. intros [x [X0 [Xs _]]] I. rewrite <- Xs by auto. apply sum_ge0; auto. Qed.
(* {prop-compare-drfh} Nobody can have more unless somebody has less. *)
Theorem nobody_can_have_more P b g z i : fluid_drfh P b g -> fits_bounds P b z -> (∀ h < n P, g h <= z h) ->
  (i < n P)%nat -> z i <= g i.
Proof. intros [_ L] Z Le I. suppose G. apply (L z Z), (more_is_larger (n P) g z i); auto. Qed.
(* {prop-compare-drfh} User i could have the level z on what h holds, scaled by weight, even if it were in one heap. *)
Theorem no_envy P b g i h z : demands P -> fluid_drfh P b g -> (i < n P)%nat -> (h < n P)%nat -> within z (b i) ->
  (∀ j < m P, a P i j * z <= w P i / w P h * (a P h j * g h)) -> z <= g i.
Proof. intros D [[[x [X0 [Xs Xc]]] B] Lex] I H Bz R. suppose G. destruct (D i I) as [Wi [Ai [j0 [J0 E0]]]], (D h H) as
  [Wh [Ah _]]. assert (G0 : 0 <= g i) by (apply (possible_ge0 P); auto; exists x; repeat split; auto). assert (Need : ∀
  j < m P, 0 < a P i j -> 0 < a P h j). { intros j J A. specialize (R j J). pose proof (Ah j). destruct (Req_dec (a P h
  j) 0) as [Z|]; [rewrite Z in R; nra|lra]. } assert (Up : g i < g h). { specialize (R j0 J0). rewrite E0 in R. pose
  proof (Ah j0). apply Rlt_le_trans with (1 := G). apply Rmult_le_reg_l with (w P i); auto. apply Rle_trans with (1 :=
  R). replace (w P i * g h) with (w P i / w P h * (w P h * g h)) by (field; lra). apply Rmult_le_compat_l; [apply
  Rlt_le, Rdiv_lt_0_compat; auto|]. apply Rmult_le_compat_r; [|lra]. apply (possible_ge0 P); auto. exists x; repeat
  split; auto. } destruct (sum_gt0_inv (K P) (fun k => x h k)) as [k [Kk Gk]]; [rewrite Xs by auto; lra|]. set (s :=
  Rmin (x h k) ((g h - g i) / 2)). assert (S : 0 < s) by (apply Rmin_glb_lt; lra). pose proof (Rmin_l (x h k) ((g h - g
  i) / 2)). pose proof (Rmin_r (x h k) ((g h - g i) / 2)). fold s in H0, H1. destruct (small_step (m P) (fun j e => e *
  a P i j <= s * a P h j)) as [e0 [Ep Ok]]. { intros j J. pose proof (Ai j). pose proof (Ah j). destruct (Req_dec (a P i
  j) 0) as [Z|]; [exists 1; rewrite Z; split; nra|]. specialize (Need j J ltac:(lra)). exists (s * a P h j / a P i j).
  split; [apply Rdiv_lt_0_compat; nra|apply Req_le; field; auto]. } { intros j u v U V. pose proof (Ai j). nra. } set (e
  := Rmin (Rmin e0 ((g h - g i) / 2)) (z - g i)). assert (E : 0 < e) by (repeat apply Rmin_glb_lt; lra). assert (Ele : e
  <= e0 /\ e <= (g h - g i) / 2 /\ e <= z - g i) by (unfold e; minmax). set (d := fun f => if Nat.eqb f i then e else if
  Nat.eqb f h then - s else 0). assert (Nih : h <> i) by (intros ->; lra). assert (di : d i = e) by (unfold d; rewrite
  Nat.eqb_refl; auto). assert (dh : d h = - s) by (unfold d; rewrite Nat.eqb_refl; destruct (Nat.eqb_spec h i); tauto).
  assert (do : forall f, f <> i -> f <> h -> d f = 0) by (intros f Fi Fh; unfold d; destruct (Nat.eqb_spec f i),
  (Nat.eqb_spec f h); tauto). apply (Lex (fun f => g f + d f)); [split; [exists (fun f l => x f l + if Nat.eqb l k then
  d f else 0); split; [|split]|]|].
  - intros f l. pose proof (X0 f l). destruct (Nat.eqb_spec l k) as [->|]; [|lra]. destruct (Nat.eq_dec f i) as [->|Ni];
    [lra|]. destruct (Nat.eq_dec f h) as [->|Nh]; [lra|rewrite do by auto; lra].
  - intros f Ff. rewrite (sum_plus (K P) (fun l => x f l)), (sum_only (K P) k (fun _ => d f)), Xs; auto.
  - intros l j Ll J. specialize (Xc l j Ll J). destruct (Nat.eqb l k); [|apply Rle_trans with (2 := Xc), Req_le,
    sum_ext; intros; lra]. apply Rle_trans with ((Σ f < n P, x f l * a P f j) + ((Σ f < n P, if Nat.eqb f i then e * a P
    f j else 0) + Σ f < n P, if Nat.eqb f h then - (s * a P f j) else 0)).
    + rewrite <- !sum_plus. apply sum_le; intros f _. unfold d. destruct (Nat.eqb_spec f i), (Nat.eqb_spec f h); subst;
      try lra; congruence.
    + rewrite (sum_only (n P) i (fun f => e * a P f j)), (sum_only (n P) h (fun f => - (s * a P f j))) by auto.
      specialize (Ok j J). pose proof (Ai j). nra.
  - intros f Ff. specialize (B f Ff). destruct (Nat.eq_dec f i) as [->|Ni]; [rewrite di; destruct (b i); simpl in *;
    lra|]. destruct (Nat.eq_dec f h) as [->|Nh]; [rewrite dh|rewrite do by auto]; destruct (b _); simpl in *; lra.
  - apply (swap_is_larger (n P) g _ h i); auto; [intros f Fh Fi; rewrite do by auto; lra|]. rewrite di, dh. lra. Qed.
Lemma half_fits P b y z : fits_bounds P b y -> fits_bounds P b z -> fits_bounds P b (fun g => (y g + z g) / 2).
Proof. intros [[x [X0 [Xs Xc]]] B] [[u [U0 [Us Uc]]] D]. split; [exists (fun i k => (x i k + u i k) * / 2); split;
  [|split]|].
  - intros i k. specialize (X0 i k); specialize (U0 i k). lra.
  - intros i I. rewrite (sum_mul (K P) (fun k => x i k + u i k)), sum_plus, Xs, Us by auto. lra.
  - intros k j Kk J. specialize (Xc k j Kk J); specialize (Uc k j Kk J). rewrite (sum_ext _ _ (fun i => (x i k * a P i j
    + u i k * a P i j) * / 2)) by (intros; lra). rewrite sum_mul, sum_plus. lra.
  - intros i I. specialize (B i I); specialize (D i I). destruct (b i); simpl in *; [lra|auto]. Qed.
(* {prop-compare-drfh} Q is P, but user i claims other demands and perhaps another bound. On what it gets of class k it could
   have y k of its true level. *)
Theorem no_lie_pays P Q b b' g g' x y i : demands P -> demands Q -> claims P Q i -> (forall h, h <> i -> b' h = b h) ->
  fluid_drfh P b g -> fluid_drfh Q b' g' -> places Q x g' -> (i < n P)%nat -> (forall k, 0 <= y k) ->
  within (Σ k < K P, y k) (b i) -> (forall k j, (k < K P)%nat -> (j < m P)%nat -> y k * a P i j <= x i k * a Q i j) ->
  (Σ k < K P, y k) <= g i.
Proof. intros D Dq [en [em [ek [ec [ew eo]]]]] eb [[Pg Bg] Lex] [[Pg' Bg'] Lex'] [X0 [Xs Xc]] I Y0 By Yc. suppose G. set
  (Y := Σ k < K P, y k) in *. set (z := fun h => if Nat.eqb h i then Y else g' h). assert (zi : z i = Y) by (unfold z;
  rewrite Nat.eqb_refl; auto). assert (zo : forall h, h <> i -> z h = g' h) by (intros h N; unfold z; destruct
  (Nat.eqb_spec h i); tauto). assert (Yz : Y <= g' i). { rewrite <- Xs by lia. unfold Y. rewrite ek. apply sum_le;
  intros k Kk. destruct (D i I) as [Wi [_ [j [J E]]]]. destruct (Dq i ltac:(lia)) as [_ [A _]]. specialize (Yc k j
  ltac:(lia) J). specialize (A j). rewrite ew in A. rewrite E in Yc. specialize (X0 i k). specialize (Y0 k). apply
  Rmult_le_reg_r with (w P i); auto. nra. } assert (Fz : fits_bounds P b z). { split; [exists (fun h k => if Nat.eqb h i
  then y k else x h k); split; [|split]|].
    - intros h k. destruct (Nat.eqb h i); auto.
    - intros h H. unfold z. destruct (Nat.eqb h i); [auto|rewrite <- ek; apply Xs; lia].
    - intros k j Kk J. rewrite <- ec. apply Rle_trans with (2 := Xc k j ltac:(lia) ltac:(lia)). rewrite en. apply
      sum_le; intros h H. destruct (Nat.eqb_spec h i) as [->|N]; [auto|rewrite eo by auto; lra].
    - intros h H. destruct (Nat.eq_dec h i) as [->|N]; [rewrite zi; auto|rewrite zo, <- eb by auto; apply Bg'; lia]. }
      assert (G0 : forall h, (h < n P)%nat -> 0 <= g h /\ 0 <= z h) by (intros h H; split; [apply (possible_ge0 P)|
      apply (possible_ge0 P); [apply Fz|]]; auto). destruct (least (n P) (fun h => g h <> z h) (fun h => Rmin (g h) (z
      h))) as [h [H [Dh Le]]]; [intros h; destruct (Req_dec (g h) (z h)); auto|exists i; split; [auto|lra]|]. set (low
      := Rmin (g h) (z h)) in *. assert (Lo : ∀ f < n P, g f <> z f -> low <= g f /\ low <= z f). { intros f Ff Df.
      specialize (Le f Ff Df). simpl in Le. pose proof (Rmin_l (g f) (z f)). pose proof (Rmin_r (g f) (z f)). lra. } (*
      no g f is the least: half way to z would be larger *) assert (above : ∀ f < n P, g f <> z f -> low < g f). {
      intros f Ff Df. destruct (Lo f Ff Df) as [L _]. destruct (Rle_lt_or_eq_dec _ _ L) as [|E]; [auto|exfalso]. apply
      (Lex _ (half_fits P b g z (conj Pg Bg) Fz)). apply (half_way_is_larger (n P) g z f); auto. intros e Ee De. rewrite
      <- E. apply Lo; auto. } assert (Zh : z h = low) by (specialize (above h H Dh); unfold low, Rmin in *; destruct
      (Rle_dec (g h) (z h)); lra). assert (low0 : 0 <= low) by (rewrite <- Zh; apply G0; auto). assert (Li : low < g' i)
      by (specialize (above i I ltac:(lra)); lra). assert (Nh : h <> i) by (intros ->; specialize (above i I Dh); lra).
      set (t := (g' i - low) / (2 * g' i)). assert (T : 0 < t < 1 /\ low < (1 - t) * g' i). { assert (Et : t * g' i =
      (g' i - low) / 2) by (unfold t; field; lra). assert (0 < t) by (apply Rdiv_lt_0_compat; lra). split; [split;
      [auto|apply Rmult_lt_reg_r with (g' i); lra]|lra]. } (* after the lie a little of the honest allocation of all but
      i is mixed in *) set (v := fun f => (1 - t) * g' f + if Nat.eqb f i then 0 else t * g f). destruct Pg as [u [U0
      [Us Uc]]]. apply (Lex' v); [split; [exists (fun f k => (1 - t) * x f k + if Nat.eqb f i then 0 else t * u f k);
      split; [|split]|]|].
  - intros f k. pose proof (X0 f k). pose proof (U0 f k). destruct (Nat.eqb f i); nra.
  - intros f Ff. rewrite sum_plus. rewrite (sum_ext _ (fun k => (1 - t) * x f k) (fun k => x f k * (1 - t))) by (intros;
    lra). rewrite (sum_mul (K Q) (fun k => x f k)), Xs by auto. unfold v. destruct (Nat.eqb f i); [rewrite sum_zero;
    auto; lra|]. rewrite (sum_ext _ (fun k => t * u f k) (fun k => u f k * t)) by (intros; lra). rewrite (sum_mul (K Q)
    (fun k => u f k)), ek, Us by lia. lra.
  - intros k j Kk J. specialize (Xc k j Kk J). specialize (Uc k j ltac:(lia) ltac:(lia)). rewrite ec in *. apply
    Rle_trans with ((Σ f < n Q, x f k * a Q f j * (1 - t)) + Σ f < n Q, u f k * a P f j * t).
    + rewrite <- sum_plus. apply sum_le; intros f Ff. destruct (Nat.eqb_spec f i) as [->|N]; [|rewrite eo by auto; lra].
      pose proof (U0 i k). destruct (D i I) as [_ [A _]]. specialize (A j). assert (0 <= u i k * a P i j * t) by (apply
      Rmult_le_pos; [apply Rmult_le_pos|]; lra). lra.
    + rewrite (sum_mul (n Q) (fun f => x f k * a Q f j)), (sum_mul (n Q) (fun f => u f k * a P f j)), en in *. nra.
  - intros f Ff. specialize (Bg' f Ff). unfold v. destruct (Nat.eqb_spec f i) as [->|N].
    + destruct (b' i); simpl in *; [nra|auto].
    + specialize (Bg f ltac:(lia)). rewrite eb in * by auto. destruct (b f); simpl in *; [nra|auto].
  - rewrite en. apply (larger_by_least (n P) v g' low h); auto.
    + intros f Ff Df. destruct (Nat.eq_dec f i) as [->|N]; [unfold v; rewrite Nat.eqb_refl; split; lra|]. assert (Vf : v
      f = (1 - t) * z f + t * g f) by (unfold v; destruct (Nat.eqb_spec f i); [tauto|rewrite zo by auto; auto]). assert
      (Ne : g f <> z f) by (intros E; apply Df; rewrite Vf, E, zo by auto; lra). destruct (Lo f Ff Ne) as [_ L]. pose
      proof (above f Ff Ne). rewrite zo in * by auto. rewrite Vf. split; [nra|auto].
    + unfold v. destruct (Nat.eqb_spec h i); [tauto|]. pose proof (above h H Dh). rewrite zo in Zh by auto. rewrite Zh.
      nra.
    + rewrite <- Zh, zo; auto. Qed.
(* {whole} prop-compare-drfh *)
