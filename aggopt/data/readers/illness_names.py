"""Names of illnesses among the entries of a column, which its own name may not show."""

import pyarrow as pa
import pyarrow.compute as pc

_WORDS = """
influenza flu grippe gripe hiv aids vih sida asthma asma asthme cancer krebs
carcinoma karzinom tumor tumour tumeur melanoma leukaemia leukemia leukämie lymphoma
diabetes diabetic hepatitis hépatite tuberculosis tuberkulose tuberculose pneumonia
lungenentzündung pneumonie neumonía bronchitis covid malaria cholera measles masern
syphilis gonorrhoea gonorrhea chlamydia stroke schlaganfall infarction infarkt infarctus
hypertension bluthochdruck arthritis arthrose migraine migräne epilepsy epilepsie
depression schizophrenia schizophrenie psychosis psychose anxiety bipolar dementia
demenz alzheimer parkinson anaemia anemia anämie obesity adipositas ulcer gastritis
cirrhosis zirrhose sepsis eczema ekzem psoriasis
"""
_ILLNESS = rf"(?i)\b({'|'.join(_WORDS.split())})\b"
_ICD_10 = r"^[A-Z]\d\d\.\d"  # F32.1
MOST = 10_000  # names of a column that are looked at


def has_illnesses(names: pa.Array) -> bool:
    """Return whether at least half of some different names are those of illnesses.

    >>> has_illnesses(pa.array(["flu", "HIV", "none"]))
    True
    """
    is_text = pa.types.is_string(names.type) or pa.types.is_large_string(names.type)
    if not is_text or not 2 <= len(names) <= MOST:
        return False
    matches = pc.match_substring_regex(names, f"{_ILLNESS}|{_ICD_10}")
    count = pc.sum(matches).as_py() or 0
    return bool(count >= 2 and 2 * count >= len(names))
