(* The filling: all rise with one level, each from its own floor to its own lid, until what they need is used up. *)
From Coq Require Import List.
From proofs Require Import sums lemmas.
Import ListNotations.
Local Open Scope R_scope.
(* {model} *)
(* User i stands at its floor lo i until the level comes by, and ends at its lid up i (None: it has none). Per unit of
   level it takes a i j of resource j; rest j is what there is of it beyond what is held at the floors. *)
Record pool := Pool { n : nat; m : nat; a : nat -> nat -> R; lo : nat -> R; up : nat -> option R; rest : nat -> R }.
Record model P : Prop := {
  need_ge0 : forall i j, 0 <= a P i j;
  lid_ge : ∀ i < n P, within (lo P i) (up P i);
  rest_ge0 : ∀ j < m P, 0 <= rest P j;
  it_ends : ∀ i < n P, up P i <> None \/ ∃ j < m P, 0 < a P i j
}.
Definition used P y j := Σ i < n P, a P i j * (y i - lo P i).
Definition allowed P y := (∀ i < n P, lo P i <= y i /\ within (y i) (up P i)) /\ ∀ j < m P, used P y j <= rest P j.
Definition at_level P L i := match up P i with Some b => Rmin (Rmax L (lo P i)) b | None => Rmax L (lo P i) end.

(* used up, needed by i, and nobody who takes of it and has left its floor stands higher *)
Definition bottleneck P y i j := (j < m P)%nat /\ used P y j = rest P j /\ 0 < a P i j /\
  ∀ h < n P, 0 < a P h j -> lo P h < y h -> y h <= y i.
Definition certified P y := ∀ i < n P, up P i = Some (y i) \/ exists j, bottleneck P y i j.

(* How high the water is, who rises, and where each stands *)
Record state := State { water : R; rising : nat -> bool; stands : nat -> R }.
Definition begins P s := ∀ i < n P, rising s i = true /\ stands s i = lo P i /\ water s <= lo P i.
Definition full P y i j := (j < m P)%nat /\ used P y j = rest P j /\ 0 < a P i j.
Definition stops P y i := up P i = Some (y i) \/ exists j, full P y i j.
(* The water rises to where somebody stops, and all who have a reason to stop do. That may be the first such moment, or
   one at which a resource is used up. *)
Definition raised P s z i := if rising s i then at_level P z i else stands s i.
Definition round P s s' := water s <= water s' /\ (forall i, stands s' i = raised P s (water s') i) /\
  allowed P (stands s') /\ (∃ i < n P, rising s i = true /\ stops P (stands s') i) /\
  ∀ i < n P, (rising s' i = true <-> rising s i = true /\ ~ stops P (stands s') i).
(* nobody who rises has had a reason before *)
Definition first_round P s s' := round P s s' /\ forall z, water s <= z < water s' -> ∀ i < n P, rising s i = true ->
  ~ stops P (raised P s z) i.
Inductive rounds P : nat -> state -> state -> Prop :=
  | none s : rounds P 0 s s
  | one_more k s s' s'' : rounds P k s s' -> round P s' s'' -> rounds P (S k) s s''.
Definition bounded P := length (filter (fun i => match up P i with Some _ => true | None => false end) (seq 0 (n P))).
(* {end} *)
Ltac limits := unfold at_level, within, Rmin, Rmax in *; repeat innermost; try lra.
(* ---------------------------------------------------------------------------------------------- the certificate *)
Theorem certified_max_min P y : model P -> certified P y -> max_min (n P) (allowed P) y.
Proof. intros M Cy y' [B' U'] i I G. destruct (Cy i I) as [E|[j [J [U [A H]]]]].
  - specialize (B' i I); rewrite E in B'; simpl in B'; lra.
  - destruct (exchange (n P) (fun h => a P h j * (y' h - lo P h)) (fun h => a P h j * (y h - lo P h)) i) as [h [K [_ L]]];
    auto; [change (used P y' j <= used P y j); rewrite U; auto|simpl; nra|]. apply factor in L; [|apply need_ge0; auto].
    destruct (B' h K). exists h; split; [auto|split; [lra|apply H; [auto|apply L|lra]]]. Qed.
(* ---------------------------------------------------------------------------------------------- the highest level *)
Lemma between P L i : within (lo P i) (up P i) -> lo P i <= at_level P L i /\ within (at_level P L i) (up P i).
Proof. intros U. unfold at_level, within in *. destruct (up P i) as [b|]; limits. Qed.
Lemma slowly P L z i : L <= z -> at_level P L i <= at_level P z i <= at_level P L i + (z - L).
Proof. intros E. unfold at_level. destruct (up P i) as [b|]; limits. Qed.
Definition growth P s j := Σ i < n P, if rising s i then a P i j else 0.
Lemma growth_ge0 P s j : model P -> 0 <= growth P s j.
Proof. intros M; apply sum_ge0; intros i _; destruct (rising s i); [apply need_ge0; auto|lra]. Qed.
Lemma used_slowly P s L z j : model P -> L <= z ->
  used P (raised P s L) j <= used P (raised P s z) j <= used P (raised P s L) j + growth P s j * (z - L).
Proof. intros M E; unfold used, growth. rewrite <- sum_mul, <- sum_plus. split; apply sum_le; intros i _; unfold raised;
  pose proof (need_ge0 P M i j); pose proof (slowly P L z i E); destruct (rising s i); nra. Qed.
Definition fits P s z := ∀ j < m P, used P (raised P s z) j <= rest P j.
Lemma fits_less P s L z : model P -> L <= z -> fits P s z -> fits P s L.
Proof. intros M E F j J. apply Rle_trans with (2 := F j J). apply used_slowly; auto. Qed.
(* There is a largest level that fits, or all are at their lids. *)
Lemma highest_level P s L0 : model P -> (∀ i < n P, lo P i <= stands s i) -> fits P s L0 -> exists L, L0 <= L /\
  fits P s L /\ ((forall z, fits P s z -> z <= L) \/ ∀ i < n P, rising s i = true -> up P i = Some (at_level P L i)).
Proof. intros M Fl F0. destruct (highest (n P) (fun i => match up P i with Some b => b | None => 0 end)) as [B HB].
  assert (top : (exists Z, forall z, fits P s z -> z <= Z) \/ (∀ i < n P, rising s i = true -> up P i = Some (at_level P
  (Rmax L0 B) i)) /\ fits P s (Rmax L0 B)).
  { destruct (dec_ex (n P) (fun i => rising s i = true /\ up P i = None)) as [[i [I [R E]]]|N].
    - intros i; destruct (rising s i), (up P i); (left; split; reflexivity) || (right; intros []; discriminate).
    - left. destruct (it_ends P M i I) as [|[j [J A]]]; [tauto|]. exists (lo P i + rest P j / a P i j). intros z Fz.
      suppose G. specialize (Fz j J). assert (T : a P i j * (raised P s z i - lo P i) <= used P (raised P s z) j).
      { apply (sum_term (n P) (fun h => a P h j * (raised P s z h - lo P h))); auto. intros h H. apply Rmult_le_pos;
        [apply need_ge0; auto|]. specialize (Fl h H). unfold raised. destruct (rising s h); [|lra].
        pose proof (between P z h (lid_ge P M h H)); lra. }
      assert (rest P j < a P i j * (raised P s z i - lo P i)); [|lra].
      replace (rest P j) with (a P i j * (rest P j / a P i j)) by (field; lra). apply Rmult_lt_compat_l; [auto|].
      unfold raised, at_level; rewrite R, E. pose proof (Rmax_l z (lo P i)); lra.
    - destruct (some_or_none (m P) (rest P) (used P (raised P s (Rmax L0 B)))) as [[j [J G]]|F]; [left|right].
      + exists (Rmax L0 B). intros z Fz. suppose L. specialize (Fz j J).
        pose proof (used_slowly P s (Rmax L0 B) z j M ltac:(lra)). lra.
      + split; [|exact F]. intros i I R. pose proof (lid_ge P M i I) as U. specialize (HB i I).
        destruct (up P i) as [b|] eqn:E; [|exfalso; eauto]. f_equal. unfold at_level; rewrite E. simpl in U.
        pose proof (Rmax_r L0 B). limits. }
  destruct top as [[Z HZ]|[All F]]; [|exists (Rmax L0 B); split; [apply Rmax_l|auto]].
  destruct (completeness (fits P s)) as [L [Ub Lub]]; [exists Z; exact HZ|exists L0; auto|]. exists L.
  split; [apply Ub; auto|split; [|left; exact Ub]]. intros j J. suppose G. pose proof (growth_ge0 P s j M) as A.
  set (e := (used P (raised P s L) j - rest P j) / (growth P s j + 1)).
  assert (E : 0 < e) by (apply Rdiv_lt_0_compat; lra). assert (Ee : e * (growth P s j + 1) = used P (raised P s L) j
  - rest P j) by (unfold e; field; lra). assert (L <= L - e); [|lra]. apply Lub. intros z Fz. suppose Gz.
  pose proof (Ub z Fz). specialize (Fz j J). pose proof (used_slowly P s z L j M ltac:(lra)). nra. Qed.
(* At the largest level a resource that somebody needs who rises is used up. *)
Lemma used_up P s L : model P -> fits P s L -> (forall z, fits P s z -> z <= L) -> ∃ i < n P, rising s i = true /\
  exists j, full P (raised P s L) i j.
Proof. intros M F Top. set (y := raised P s L). assert (D : dec (fun i => rising s i = true /\ exists j, full P y i j)).
  { intros i. destruct (rising s i); [|right; intros []; discriminate]. destruct (dec_ex (m P) (fun j => used P y j =
    rest P j /\ 0 < a P i j)) as [Y|N]; [|left; split; [auto|exact Y]|right; intros [_ [j H]]; apply N; exists j; exact
    H]. intros j; destruct (Req_EM_T (used P y j) (rest P j)), (Rlt_dec 0 (a P i j)); (left; tauto) || (right; tauto). }
  destruct (dec_ex (n P) _ D) as [|N]; [auto|exfalso]. destruct (small_room (m P) (used P y) (growth P s)
  (rest P)) as [e [E Ok]].
  { intros j J; split; [apply growth_ge0; auto|split; [apply F; auto|]]. intros Q. suppose G.
    destruct (sum_gt0_inv (n P) (fun i => if rising s i then a P i j else 0) G) as [i [I A]].
    destruct (rising s i) eqn:R; [|lra]. apply N. exists i; repeat split; auto. exists j; repeat split; auto. }
  assert (L + e <= L); [|lra]. apply Top. intros j J. pose proof (used_slowly P s L (L + e) j M ltac:(lra)) as U.
  specialize (Ok j J). fold y in U. lra. Qed.
(* ---------------------------------------------------------------------------------------------- rounds *)
Lemma stops_dec P y i : {stops P y i} + {~ stops P y i}.
Proof. assert (D : {up P i = Some (y i)} + {up P i <> Some (y i)}) by (destruct (up P i) as [b|]; [|right; discriminate];
  destruct (Req_EM_T b (y i)); [left; congruence|right; congruence]). destruct D as [|U]; [left; left; auto|].
  destruct (dec_ex (m P) (fun j => used P y j = rest P j /\ 0 < a P i j)) as [Y|N]; [|left; right; exact Y|right].
  - intros j; destruct (Req_EM_T (used P y j) (rest P j)), (Rlt_dec 0 (a P i j)); (left; tauto) || (right; tauto).
  - intros [E|Y]; [auto|exact (N Y)]. Qed.
(* resource j stops user i, and all who need it stand still *)
Definition shut P s i j := bottleneck P (stands s) i j /\ ∀ h < n P, 0 < a P h j -> rising s h = false.
Record kept P s : Prop := {
  ok : allowed P (stands s);
  with_water : ∀ i < n P, rising s i = true -> stands s i = at_level P (water s) i;
  under : ∀ i < n P, lo P i < stands s i -> stands s i <= water s;
  why : ∀ i < n P, rising s i = false -> up P i = Some (stands s i) \/ exists j, shut P s i j }.
Lemma begin_kept P s : model P -> begins P s -> kept P s.
Proof. intros M B. split.
  - split; [intros i I; destruct (B i I) as [_ [-> _]]; split; [lra|apply lid_ge; auto]|]. intros j J.
    unfold used; rewrite sum_zero; [apply rest_ge0; auto|]. intros i I; destruct (B i I) as [_ [-> _]]; lra.
  - intros i I _. destruct (B i I) as [_ [-> W]]. pose proof (lid_ge P M i I) as U. unfold at_level, within in *.
    destruct (up P i); limits.
  - intros i I L. destruct (B i I) as [_ [E _]]; lra.
  - intros i I R. destruct (B i I); congruence. Qed.
Lemma stays_shut P s s' i j : model P -> round P s s' -> (i < n P)%nat -> shut P s i j -> shut P s' i j.
Proof. intros M [_ [E [_ [_ R]]]] I [[J [U [A H]]] No].
  assert (same : ∀ h < n P, 0 < a P h j -> stands s' h = stands s h) by (intros h K G; rewrite E; unfold raised;
  rewrite (No h K G); auto). split; [split; [auto|split; [|split; [auto|intros h K G; rewrite !same; auto]]]|].
  - rewrite <- U. apply sum_ext; intros h K. destruct (need_ge0 P M h j) as [G|<-]; [rewrite same|]; auto; lra.
  - intros h K G. specialize (No h K G). specialize (R h K). destruct (rising s' h); [|auto].
    destruct R as [R _]; destruct R; auto; congruence. Qed.
(* Whom a resource stops in a round, not its lid, has it as a bottleneck from then on. *)
Lemma shut_now P s s' i j : model P -> kept P s -> round P s s' -> (i < n P)%nat -> rising s i = true ->
  up P i <> Some (stands s' i) -> full P (stands s') i j -> shut P s' i j.
Proof. intros M K [W [E [Al [_ R]]]] I Ri N [J [U A]]. split; [split; [auto|split; [auto|split; [auto|]]]|].
  - intros h H G Lh. apply Rle_trans with (water s').
    + rewrite E in *. unfold raised in *. destruct (rising s h) eqn:Rh; [|pose proof (under P s K h H Lh); lra].
      pose proof (lid_ge P M h H). unfold at_level, within in *. destruct (up P h); limits.
    + rewrite E in *. unfold raised in *. rewrite Ri in *. unfold at_level in *. destruct (up P i) as [b|]; [|apply Rmax_l].
      revert N; unfold Rmin; destruct (Rle_dec _ _); intros N; [apply Rmax_l|destruct N; auto].
  - intros h H G. specialize (R h H). destruct (rising s' h); [exfalso|auto]. destruct R as [R _]; destruct R as [_ R];
    auto. apply R; right; exists j; repeat split; auto. Qed.
Lemma round_kept P s s' : model P -> kept P s -> round P s s' -> kept P s'.
Proof. intros M K Ro. pose proof Ro as [W [E [Al [_ R]]]]. split; auto.
  - intros i I Ri. apply R in Ri; auto. rewrite E; unfold raised; destruct Ri as [-> _]; auto.
  - intros i I L. rewrite E in *. unfold raised in *. destruct (rising s i); [|pose proof (under P s K i I L); lra].
    pose proof (lid_ge P M i I). unfold at_level, within in *. destruct (up P i); limits.
  - intros i I Ri. destruct (rising s i) eqn:Rs.
    + destruct (stops_dec P (stands s') i) as [St|N]; [|rewrite (proj2 (R i I)) in Ri; [discriminate|auto]].
      destruct (stops_dec (Pool (n P) 0 (a P) (lo P) (up P) (rest P)) (stands s') i) as [[L|[j []]]|N];
      [left; exact L|simpl in *; lia|]. destruct St as [|[j F]]; [auto|right; exists j]. apply (shut_now P s s' i j);
      auto. intros L; apply N; left; exact L.
    + destruct (why P s K i I Rs) as [L|[j Sh]]; [left; rewrite E; unfold raised; rewrite Rs; auto|right; exists j;
      apply (stays_shut P s); auto]. Qed.
Lemma rounds_kept P k s s' : model P -> kept P s -> rounds P k s s' -> kept P s'.
Proof. intros M K; induction 1; [auto|apply (round_kept P s'); auto]. Qed.
Lemma round_at P s z : model P -> kept P s -> water s <= z -> fits P s z -> (∃ i < n P, rising s i = true /\
  stops P (raised P s z) i) -> round P s (State z (fun i => if stops_dec P (raised P s z) i then false else rising s i)
  (raised P s z)).
Proof. intros M K W F St. split; [auto|split; [auto|split; [split; [|exact F]|split; [exact St|]]]];
  cbn [stands water rising].
  - intros i I. unfold raised. destruct (rising s i); [apply between, lid_ge; auto|apply (ok P s K); auto].
  - intros i I. destruct (stops_dec P (raised P s z) i); intuition discriminate. Qed.
Lemma next_level P s : model P -> kept P s -> (∃ i < n P, rising s i = true) -> exists L, water s <= L /\ fits P s L /\
  ∃ i < n P, rising s i = true /\ stops P (raised P s L) i.
Proof. intros M K [g [G Rg]]. assert (F0 : fits P s (water s)). { intros j J. apply Rle_trans with (2 := proj2 (ok P s K)
  j J). apply Req_le, sum_ext; intros i I. unfold raised. destruct (rising s i) eqn:R; [|auto].
  rewrite (with_water P s K i I R); auto. } destruct (highest_level P s (water s) M) as [L [W [F Top]]]; auto.
  { intros i I; apply (ok P s K); auto. } exists L. split; [auto|split; [auto|]]. destruct Top as [Top|All].
  - destruct (used_up P s L M F Top) as [i [I [R Fu]]]. exists i; split; [auto|split; [auto|right; auto]].
  - exists g; split; [auto|split; [auto|left]]. unfold raised; rewrite Rg; auto. Qed.
Lemma first_to_stop P s : model P -> kept P s -> (∃ i < n P, rising s i = true) -> (∀ i < n P, rising s i = true ->
  lo P i <= water s) -> exists s', first_round P s s'.
Proof. intros M K So Be. destruct (next_level P s M K So) as [L [W [F [i [I [R St]]]]]].
  set (lid := fun h => match up P h with Some b => b | None => L end). destruct (least (n P) (fun h => rising s h = true)
  lid) as [h [H [Rh Mn]]]; [intros k; destruct (rising s k); auto|auto|].
  set (z := Rmin L (Rmax (water s) (lid h))). assert (Z : water s <= z <= L) by (unfold z; minmax).
  exists (State z (fun i => if stops_dec P (raised P s z) i then false else rising s i) (raised P s z)). split.
  - apply round_at; auto; [apply Z|apply (fits_less P s z L); auto; apply Z|]. destruct (Req_dec z L) as [->|N]; [eauto|].
    exists h; split; [auto|split; [auto|left]]. unfold raised; rewrite Rh. specialize (Be h H Rh).
    pose proof (lid_ge P M h H). unfold z, lid, at_level, within in *. destruct (up P h) as [b|]; [f_equal|]; limits.
  - cbn [water]. intros y Y k Kk Rk S. specialize (Mn k Kk Rk). specialize (Be k Kk Rk).
    assert (G : y < lid k) by (unfold z in *; simpl in Mn; minmax). assert (up1 : raised P s y k = y /\ y < raised P s z
    k). { unfold raised; rewrite Rk. pose proof (lid_ge P M k Kk). unfold lid, at_level, within in *.
      destruct (up P k) as [b|]; split; limits. } destruct up1 as [E1 E2]. destruct S as [E|[j [J [U A]]]].
    + rewrite E1 in E. unfold lid in G. rewrite E in G. lra.
    + assert (used P (raised P s y) j < used P (raised P s z) j); [|pose proof (fits_less P s z L M (proj2 Z) F j J);
      lra]. apply sum_lt with k; auto; [|apply Rmult_lt_compat_l; lra]. intros g G0.
      apply Rmult_le_compat_l; [apply need_ge0; auto|]. unfold raised. destruct (rising s g); [|lra].
      pose proof (slowly P y z g ltac:(lra)); lra. Qed.
Definition count k (p : nat -> bool) := length (filter p (seq 0 k)).
Lemma count_le k p : (count k p <= k)%nat.
Proof. unfold count. rewrite <- (seq_length k 0) at 2. induction (seq 0 k) as [|i l IH]; simpl; [auto|].
  destruct (p i); simpl; lia. Qed.
Definition open P s j := existsb (fun i => rising s i && if Rlt_dec 0 (a P i j) then true else false)%bool (seq 0 (n P)).
Definition to_lid P s i := (rising s i && match up P i with Some _ => true | None => false end)%bool.
Lemma open_is P s j : open P s j = true <-> ∃ i < n P, rising s i = true /\ 0 < a P i j.
Proof. unfold open; rewrite existsb_exists. split; intros [i H]; exists i; rewrite in_seq, Bool.andb_true_iff in *;
  destruct (Rlt_dec 0 (a P i j)); intuition (try discriminate; try lia; auto). Qed.
Lemma fewer P s s' : round P s s' -> (count (n P) (rising s') < count (n P) (rising s))%nat /\ (count (m P) (open P s')
  + count (n P) (to_lid P s') < count (m P) (open P s) + count (n P) (to_lid P s))%nat.
Proof. intros [_ [_ [_ [[i [I [Ri St]]] R]]]].
  assert (less : forall h, In h (seq 0 (n P)) -> rising s' h = true -> rising s h = true) by (intros h H G;
  apply in_seq in H; apply R in G; [tauto|lia]). assert (off : rising s' i = false) by (destruct (rising s' i) eqn:E;
  [apply R in E; tauto|auto]). assert (Ii : In i (seq 0 (n P))) by (apply in_seq; lia). unfold count.
  split; [apply filter_lt with i; auto|]. assert (fo : forall j, open P s' j = true -> open P s j = true).
  { intros j; rewrite !open_is. intros [h [H [G A]]]; exists h; split; [auto|split; [apply less; [apply in_seq; lia|
    auto]|auto]]. } assert (fl : forall h, In h (seq 0 (n P)) -> to_lid P s' h = true -> to_lid P s h = true).
  { intros h H; unfold to_lid; rewrite !Bool.andb_true_iff; intros []; auto. }
  destruct St as [L|[j [J [U A]]]].
  - pose proof (filter_le (open P s') (open P s) (seq 0 (m P)) (fun j _ => fo j)).
    assert (length (filter (to_lid P s') (seq 0 (n P))) < length (filter (to_lid P s) (seq 0 (n P))))%nat; [|lia].
    apply filter_lt with i; auto; unfold to_lid; rewrite ?off, ?Ri, ?L; auto.
  - pose proof (filter_le (to_lid P s') (to_lid P s) (seq 0 (n P)) fl).
    assert (length (filter (open P s') (seq 0 (m P))) < length (filter (open P s) (seq 0 (m P))))%nat; [|lia].
    apply filter_lt with j; [auto|apply in_seq; lia| |apply open_is; exists i; auto].
    destruct (open P s' j) eqn:O; [|auto]. apply open_is in O as [h [Hh [G B]]]. apply R in G as [_ G]; [|auto].
    destruct G; right; exists j; repeat split; auto. Qed.
(* {thm-one_level-filling} It ends after at most n rounds, and after at most m and the number of lids. *)
Theorem rounds_end P k s s' : rounds P k s s' -> (k <= n P)%nat /\ (k <= m P + bounded P)%nat.
Proof. intros Ro. assert (C : (k + count (n P) (rising s') <= count (n P) (rising s))%nat /\ (k + (count (m P)
  (open P s') + count (n P) (to_lid P s')) <= count (m P) (open P s) + count (n P) (to_lid P s))%nat).
  { induction Ro as [|k s s' s'' _ IH Ro]; [lia|]. pose proof (fewer P s' s'' Ro). lia. }
  pose proof (count_le (n P) (rising s)). pose proof (count_le (m P) (open P s)).
  assert (count (n P) (to_lid P s) <= bounded P)%nat; [|lia]. apply filter_le. intros i _; unfold to_lid.
  rewrite Bool.andb_true_iff; tauto. Qed.
(* {thm-one_level-filling} As long as somebody rises there is a further round. *)
Theorem it_goes_on P k s s' : model P -> begins P s -> rounds P k s s' -> (∃ i < n P, rising s' i = true) ->
  exists s'', round P s' s''.
Proof. intros M B Ro So. assert (K : kept P s') by (apply (rounds_kept P k s); auto; apply begin_kept; auto).
  destruct (next_level P s' M K So) as [L [W [F St]]]. eexists; apply (round_at P s' L); auto. Qed.
(* {thm-one_level-filling} Whom a resource stops, and not its lid, has it as a bottleneck at the end. *)
Theorem stopped_by P k l s s1 s2 s' i j : model P -> begins P s -> rounds P k s s1 -> round P s1 s2 -> rounds P l s2 s'
  -> (i < n P)%nat -> rising s1 i = true -> up P i <> Some (stands s2 i) -> full P (stands s2) i j ->
  bottleneck P (stands s') i j.
Proof. intros M B R1 R R2 I Ri N F. pose proof (rounds_kept P k s s1 M (begin_kept P s M B) R1) as K.
  enough (shut P s' i j) by apply H. pose proof (shut_now P s1 s2 i j M K R I Ri N F) as Sh.
  clear - M R2 I Sh; induction R2; [auto|apply (stays_shut P s'); auto]. Qed.
(* {thm-one_level-filling} What it ends with is allowed, and its stops are the certificate. *)
Theorem result P k s s' : model P -> begins P s -> rounds P k s s' -> (∀ i < n P, rising s' i = false) ->
  allowed P (stands s') /\ certified P (stands s').
Proof. intros M B Ro No. pose proof (rounds_kept P k s s' M (begin_kept P s M B) Ro) as K. split; [apply K|].
  intros i I. destruct (why P s' K i I (No i I)) as [|[j [Sh _]]]; eauto. Qed.
Theorem exists_certified P : model P -> exists y, allowed P y /\ certified P y.
Proof. intros M. destruct (highest (n P) (fun i => - lo P i)) as [B HB]. set (s := State (- B) (fun _ => true) (lo P)).
  assert (Be : begins P s) by (intros i I; specialize (HB i I); simpl; repeat split; lra).
  assert (go : forall k, (exists l s', rounds P l s s' /\ ∀ i < n P, rising s' i = false) \/ exists s', rounds P k s s').
  { induction k as [|k [Y|[s' Ro]]]; [right; exists s; constructor|auto|].
    destruct (dec_ex (n P) (fun i => rising s' i = true)) as [Y|N]; [intros i; apply Bool.bool_dec|right|left].
    - destruct (it_goes_on P k s s' M Be Ro Y) as [s'' Ro']. exists s''; econstructor; eauto.
    - exists k, s'; split; [auto|]. intros i I; destruct (rising s' i) eqn:R; [destruct N; exists i; auto|auto]. }
  destruct (go (S (n P))) as [[l [s' [Ro No]]]|[s' Ro]]; [exists (stands s'); apply (result P l s); auto|].
  apply rounds_end in Ro; lia. Qed.
(* {thm-one_level-filling} The certificate, max-min and lexicographically max-min are the same. *)
Theorem three_in_one P y : model P -> allowed P y -> (certified P y <-> max_min (n P) (allowed P) y) /\
  (certified P y <-> lexicographically_max_min (n P) (allowed P) y).
Proof. intros M F. destruct (exists_certified P M) as [z [Fz Cz]]. pose proof (certified_max_min P z M Cz) as Mz.
  assert (back : lexicographically_max_min (n P) (allowed P) y -> certified P y).
  { intros L. assert (E : ∀ i < n P, z i = y i) by (apply (only_one (n P) (allowed P)); auto). intros i I.
    destruct (Cz i I) as [B|[j [J [U [A H]]]]]; [left; rewrite <- E; auto|right; exists j; repeat split; auto].
    - rewrite <- U; apply sum_ext; intros; rewrite E; auto.
    - intros h K Ah; rewrite <- !E by auto; auto. }
  pose proof (certified_max_min P y M) as to. pose proof (max_min_is_leximin (n P) (allowed P) y F). tauto. Qed.
(* {thm-one_level-filling} One allocation has these properties. *)
Theorem only_one P y y' : model P -> allowed P y -> allowed P y' -> certified P y ->
  lexicographically_max_min (n P) (allowed P) y' -> ∀ i < n P, y i = y' i.
Proof. intros M F F' C L. apply (lemmas.only_one (n P) (allowed P)); auto. apply certified_max_min; auto. Qed.
(* {whole} thm-one_level-filling *)
