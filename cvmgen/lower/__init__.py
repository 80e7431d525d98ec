"""Formula to loop nests: one pass, one file, one public function.

`translate` makes a nest of loops around a store of each equation (`expressions.py`), and nests that
fill selected lists (`list_nests.py`): lists that depend on elements are memory of the call, and so
are lets that would be computed again and again (`let_memory.py`). Then, in this order, with what a
pass is for where it is not for all targets:

- normal (`normal_form.py`): formulas that say the same take one form
- inside (`cvmgen.inside`): what is not proved to stay inside of its tensor is tested by a nest
- parts (`known_parts.py`): known lists beside other slots of an input's shape, and extents of
  outputs that take computing, get names
- lift (`lift.py`): the loop over a variadic input's tensors, and folds over host values, leave
  the nests
- products (`products.py`): C: sums of sums of products become sums of products, each by itself
- scans (`scans.py`): C and CUDA: running reductions that one output stores need no memory, and
  those of all terms up to an index go along it
- scan_parts (`scan_parts.py`): C and CUDA: long rows of those in parts, for threads
- firsts (`first_entries.py`): C: of lists whose first entries alone are read, those are sorted
- unfold (`unfold.py`): reductions become loops with an accumulator, bindings locals
- guards (`guards.py`): conditions and locals move out to where they belong
- invariants (`invariant_reductions.py`): reductions that do not depend on a loop stand in front of
  it; in CUDA the outermost loops keep theirs
- peel (`peel.py`): C, CUDA: leading dimensions that are indexed one by one become loops of their
  own
- split (`split.py`): C, CUDA: loops whose index is divided become two, where it is proved that
  they may
- offsets (`offsets.py`): multi-indices become offsets, with strides that the host computes; in C
  and CUDA (`places.py`) also where index lists are not affine: by sums over their entries, or by
  tables of what each dimension comes to
- speculation (`speculation.py`): C, CUDA: elements at the place of the loop are loaded before a
  choice between them
- flatten (`flatten.py`): a box that every access walks whole is one flat loop
- host_values (`host_values.py`): what nests need of lists is computed once a call
- walks (`walks.py`): C, CUDA: a box of open rank becomes rows and a strided run
- unfold_all (`unfold.py`): C, CUDA: comprehensions become loops that fill lists
- compaction (`compaction.py`): C: a list that only says which rows an output begins with is not
  kept: one nest moves each row as it is found
- decisions (`decisions.py`): C: tests that look for a deciding element become cheap comparisons,
  cheapest first
- arrays (`array_nests.py`): numpy: nests become operations on whole arrays (`ir/arrays.py`), or
  loops over Python's numbers where these do not express them. Indices become axes, element
  accesses views (`array_values.py`), reductions operations along axes, contractions, or terms one
  by one (`array_reductions.py`), lists what a mask leaves (`array_lists.py`); what is made element
  by element is a chain of operations in spare arrays, block by block (`array_chains.py`).
  `idioms.py` finds maxima, clips and shifts before, `widths.py` the integers that hold a nest
- host (`host_part.py`, `attribute_checks.py`): the last of all, in C and CUDA behind the schedules:
  checks of operands, reads of extents, assignments and refusals, for printers
"""
