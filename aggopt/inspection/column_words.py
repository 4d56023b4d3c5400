"""Words in the name of a column, or in its label, that suggest its role.

A name decides nothing by itself: `aggopt.inspection.proposal` looks at the entries,
too.
"""

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass


def _split_words(words: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(words.split())


_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
IDENTIFIERS = _split_words(
    """
    id ids idno idnum idnr idcode ident identifier uuid guid caseid serial ssn
    nin passport iban email mail phone telephone telefon tel fax address adresse
    street strasse licence license plate url seqn mrn kennung ausweis matricule
    dni docno
    """
)
PERSONAL = _split_words(  # by which a person is reached, in six languages
    """
    email mail phone telephone telefon telefono telefone tel fax mobile handy
    handynummer telefonnummer rufnummer cellulare movil courriel correo address
    adresse adresses anschrift direccion domicilio indirizzo endereco street
    strasse hausnummer rue calle website homepage ssn passport iban
    """
)
NAMES = _split_words(
    """
    name names nom noms nome nomi nombre nombres naam username
    """
)
NAMES_OF_PERSONS = _split_words(
    """
    surname lastname firstname fullname forename givenname familyname maidenname
    nickname vorname vornamen nachname nachnamen familienname geburtsname rufname
    prenom prenoms patronyme apellido apellidos cognome cognomi sobrenome achternaam
    voornaam
    """
)
_PERSONS = _split_words(  # what stands beside "name" where it is that of a person
    """
    first last full given family middle maiden birth user person persons patient
    customer client employee student pupil child mother father parent contact
    owner respondent subject member de du di del della der des of the complet
    completo propre
    """
)
POSTAL = _split_words(
    """
    zip zipcode postcode postalcode postal plz postleitzahl codepostal
    codigopostal cap cep
    """
)
NUMBERING = _split_words(
    """
    nr no num number nummer key obs case record index rank
    """
)
_NOT_ID = _split_words(  # other words that end so
    """
    acid paid unpaid aid steroid thyroid fluid covid hybrid solid kid bid did
    mid valid invalid liquid grid rapid lipid medicaid void avoid rigid humid
    """
)
UNITS = _split_words(
    """
    household households hh hhid hid haushalt family families familie fam hogar
    menage cluster psu dwelling school schule class classroom klasse firm
    company enterprise establishment hospital clinic subject patient person
    individual respondent participant couple dyad farm litter student pupil
    child kid mother father animal pig schueler kunde client customer employee
    """
)
WEIGHTS = _split_words(
    """
    weights pw pwt perwt hhwt pweight dweight anweight pspwght pspweight finalwt
    finalwgt fnlwgt afnlwgt wtssall gewichtung hochrechnungsfaktor expansion
    """
)
_SAMPLED = _split_words(
    """
    sampling sample survey household households hh person design population
    final frequency grossing calibration stichprobe haushalt
    """
)
_WEIGHS = re.compile(r"(weight|wght|wgt|wt|gewicht|poids|pond)\d*$")
_MEASURED = re.compile(r"(size|age|years|income|count|anzahl)$")
TIMES = _split_words(
    """
    year years jahr month monat day days tag week quarter wave visit occasion
    period time date datum round age
    """
)
QUANTITIES = _split_words(
    """
    age alter years yrs year count anzahl size children kids kinder persons
    rooms days weeks months hours cars score income salary wage price amount
    balance expend expenditure expenses spending sales assets debt debts savings
    tax value cost costs profit profits revenue money loan limit rating turnover
    budget einkommen ausgaben lohn umsatz
    """
)
CONFIDENTIAL = _split_words(  # illness, money, belief, crime, in four languages
    """
    diagnosis diagnoses diag diagnose diagnosen diagnostic diagnostico ill illness
    illnesses krankheit krankheiten erkrankung erkrankungen maladie maladies enfermedad
    enfermedades disease diseases disorder dx symptom symptoms symptome sintoma icd icd9
    icd10 cim10 hiv aids vih sida cancer krebs tumor tumour diabetes diabetic
    hepatitis depression depressed psychiatric psychosis disability disabled behinderung
    handicap discapacidad medication medications medikament medikamente medicament
    medicamento drug drugs drogen drogues drogas alcohol alkohol alcool abortion
    abtreibung avortement aborto pregnant pregnancy schwanger schwangerschaft enceinte
    grossesse embarazo genotype mutation allele
    income incomes inc earnings earning earns earn einkommen einkuenfte einkunfte
    verdienst revenu revenus ingreso ingresos renta salary salaries gehalt gehaelter
    gehalter salaire salaires salario salarios sueldo sueldos wage wages lohn loehne
    lohne turnover umsatz umsaetze umsatze facturacion profit profits gewinn benefice
    beneficio pension rente wealth networth vermoegen vermogen patrimoine patrimonio
    debt debts schulden dette dettes deuda deudas savings ersparnisse epargne ahorros
    religion religions religious relig konfession glaube religiosite faith denomination
    creed politics political politisch politique politica vote voted votes party partyid
    ideology sexual sexuality sexualitaet sexualitat
    crime crimes crim criminal convicted conviction convictions arrest arrested arrests
    offence offences offense offenses kriminalitaet kriminalitat straftat
    straftaten vorstrafe vorstrafen delit delits crimen crimenes delito delitos
    condena prison gefaengnis gefangnis
    todesursache sterbeursache
    """
)
_CONFIDENTIAL_PARTS = re.compile(  # Bruttolohn, Jahreseinkommen, Hauptdiagnose, avginc
    r"^(disab|relig|diagnos|krank|alcohol)|incom|"
    r"(salary|wages?|earn|earnings|diagnosis|diagnose|illness|disease|krankheit|"
    r"erkrankung|einkommen|gehalt|lohn|umsatz|turnover|vermoegen|vermogen|schulden|"
    r"religion|crime|affairs|(?<!z)inc)$"
)
_CAUSES = _split_words("cause causes causa causas ursache")
_WHEN = _split_words("age alter date datum")
_DEATH = _split_words("death dying died tod deces mort muerte defuncion fallecimiento")


@dataclass(frozen=True)
class Words:
    """The words of a name and its label, in small letters."""

    parts: frozenset[str]

    @classmethod
    def from_name(cls, name: str, label: str = "") -> "Words":
        """Return them: `hhIncome`, `hh_income` and `HH.INCOME` have two equal words.

        Accents are left out: `Prénom` is `prenom`, `Straße` is `strasse`.
        """
        parts = [
            part.lower() for part in _PARTS.findall(_strip_accents(f"{name} {label}"))
        ]
        joined = re.sub(r"[^a-z0-9]", "", _strip_accents(name).lower())
        return cls(frozenset({*parts, joined}))

    @property
    def is_identifier(self) -> bool:
        """Whether it is called as numbers of persons or things are."""
        return self._has_part_in(IDENTIFIERS) or any(map(_has_id_ending, self.parts))

    @property
    def is_name(self) -> bool:
        """Whether it is called as names are: of persons, places or anything."""
        return self._has_part_in(NAMES) or any(
            part.endswith("name") for part in self.parts
        )

    @property
    def is_person_name(self) -> bool:
        """Whether it is called as names of persons are, and of nothing else."""
        words = {part for part in self.parts if not part.isdigit()}
        others = {part for part in words - NAMES if not part.endswith("name")}
        return self._has_part_in(NAMES_OF_PERSONS) or (
            self._has_part_in(NAMES) and others <= _PERSONS
        )

    @property
    def is_postal_code(self) -> bool:
        """Whether it is called as postal codes are."""
        return self._has_part_in(POSTAL)

    @property
    def is_personal(self) -> bool:
        """Whether it is called as what reaches a person is: a telephone number."""
        return self._has_part_in(PERSONAL)

    @property
    def is_numbering(self) -> bool:
        """Whether it is called as any numbers are."""
        return self._has_part_in(NUMBERING)

    @property
    def is_unit(self) -> bool:
        """Whether it is called as what records are of, and measures nothing of it."""
        return self._has_part_in(UNITS) and not self.is_quantity

    @property
    def is_sampling_weight(self) -> bool:
        """Whether it is called as sampling weights are."""
        return self._has_part_in(WEIGHTS) or (
            self._has_part_in(_SAMPLED) and self.is_weight
        )

    @property
    def is_weight(self) -> bool:
        """Whether it is called as a weight: of a record, or of a body."""
        return any(_WEIGHS.search(part) for part in self.parts)

    @property
    def is_time(self) -> bool:
        """Whether it is called as times are."""
        return self._has_part_in(TIMES)

    @property
    def is_quantity(self) -> bool:
        """Whether its name is that of a measurement or a count."""
        counted = {"number", "of"} <= self.parts
        measured = any(map(_MEASURED.search, self.parts))
        return self._has_part_in(QUANTITIES) or counted or measured

    @property
    def is_confidential(self) -> bool:
        """Whether it is called as what persons and firms keep to themselves.

        When an illness was found is an age or a date, and no illness.
        """
        if self._has_part_in(_WHEN):
            return False
        cause_of_death = self._has_part_in(_CAUSES) and self._has_part_in(_DEATH)
        part = any(map(_CONFIDENTIAL_PARTS.search, self.parts))
        return cause_of_death or part or self._has_part_in(CONFIDENTIAL)

    def _has_part_in(self, words: Collection[str]) -> bool:
        return not self.parts.isdisjoint(words)


def _strip_accents(text: str) -> str:
    """Return a text without accents."""
    apart = unicodedata.normalize("NFKD", text.replace("\u00df", "ss"))
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def _has_id_ending(word: str) -> bool:
    """Whether a word ends as `utilityid` does."""
    return word.endswith("id") and word not in _NOT_ID and len(word) > 2
