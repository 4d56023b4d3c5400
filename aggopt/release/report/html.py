"""The report of a release, as the text of one HTML file."""

from aggopt.release.report.attack_section import intruder
from aggopt.release.report.choice_section import choice
from aggopt.release.report.facts import Facts
from aggopt.release.report.file_columns import file_columns
from aggopt.release.report.page import page
from aggopt.release.report.private_section import office
from aggopt.release.report.proof_section import proof
from aggopt.release.report.provenance_section import advice, job_text
from aggopt.release.report.utility_section import usefulness
from aggopt.release.report.verdict import verdict


def report_html(facts: Facts) -> str:
    """Return the page: for the public, unless the facts have what is private."""
    facts = facts.shown
    day, version = facts.made
    attacks = intruder(facts)
    return page(
        "report.html",
        title=facts.title,
        facts=facts,
        verdict=verdict(facts, attacks),
        intruder=attacks,
        columns=file_columns(facts),
        use=usefulness(facts),
        proof=proof(facts),
        choice=choice(facts),
        advice=list(advice(facts)),
        job=job_text(facts.job),
        day=day,
        version=version,
        office=None if facts.private is None else office(facts, facts.private),
    )
