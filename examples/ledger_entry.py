"""Is this line of the paper true? One entry of the proof ledger, run.

**Statement.** A status follows from which forms hold when they are run: as printed, corrected, and
broken on purpose.
**Reference.** CWZ19: Lemma 8.1; docs/ledger.md has all.
**Output.**

    CWZ19:Lemma 8.1 - holds corrected
    printed: fails
    corrected: holds
    mutant: fails
"""

from verify.proofs.entry import run_entry
from verify.statements import entries

entry = entries()["CWZ19:Lemma 8.1"]
finding = run_entry(entry, 0)
print(entry.id, "-", finding.status.value)
for role, found in finding.results.items():
    print(f"{role}: {'holds' if found.holds else 'fails'}")
