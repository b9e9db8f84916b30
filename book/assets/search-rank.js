/* What search lists first: pages to begin with, then the book, then what is looked up by name. A "const" would clash. */
var Scorer = {
  score: ([page, , , , score]) => score + (/(^|\/)(intro|story|tutorial|cluster|one_level)$/.test(page) ? 20
    : /\/ledger$|(^|\/)api\//.test(page) ? -20 : 0),
  /* Sphinx's own, which it asks for in full */
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
