"""YAML into entries with places."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.errors import JobError, SpaceError
from leantune.jobfile.tree import Entry, Where, read_tree


def value(text: str) -> object:
    """The plain value of `a:` in a small document."""
    return _plain(read_tree(f"a: {text}\n", "f").at("a"))


def _plain(entry: Entry) -> object:
    if isinstance(entry.value, list):
        return [_plain(one) for one in entry.value]
    if isinstance(entry.value, dict):
        return {key: _plain(one) for key, one in entry.value.items()}
    return entry.value


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        *[("1e-5", 1e-5), ("1", 1), ("+1", 1), ("-0", 0), ("007", 7), ("0x1F", 31), ("0o17", 15), ("1.", 1.0)],
        *[(".5", 0.5), ("1.5e3", 1500.0), ("1E3", 1000.0), ("-1e-300", -1e-300), ("1e-999", 0.0)],
        *[("true", True), ("True", True), ("FALSE", False), ("~", None), ("null", None), ("", None)],
        *[("on", "on"), ("off", "off"), ("yes", "yes"), ("y", "y"), ("No", "No"), ("tRue", "tRue")],
        *[("1_000", "1_000"), ("1/60", "1/60"), ("12:30:45", "12:30:45"), ("2026-11-16", "2026-11-16")],
        *[("'1'", "1"), ('"true"', "true"), ("'~'", "~"), ("|\n  x\n  y", "x\ny\n"), (">\n  x\n  y", "x y\n")],
        *[("=", "="), ("inf", "inf"), ("nan", "nan"), ("0b1", "0b1"), ("٣", "٣"), ("１", "１")],
        *[("[1, b]", [1, "b"]), ("{b: 1, on: [x]}", {"b": 1, "on": ["x"]}), ("\n  - 1\n  - c: d", [1, {"c": "d"}])],
    ],
)
def test_scalars_are_those_of_yaml_1_2(text: str, meant: object) -> None:
    found = value(text)
    assert found == meant
    assert type(found) is type(meant)


def test_a_directive_of_yaml_1_1_changes_nothing() -> None:
    root = read_tree("%YAML 1.1\n---\non: yes\na: 1:30\n", "f")
    assert _plain(root) == {"on": "yes", "a": "1:30"}


def test_places() -> None:
    root = read_tree("# comment\na:\n  b: [x, y]\n  c:\n    - z\n    -\n      d: 1\n", "job.yaml")
    a = root.at("a")
    b, c = a.any_fields("").values()
    assert str(root.where) == "job.yaml, line 2"
    assert str(a.where) == "job.yaml, line 2, a"
    assert str(b.items("")[1].where) == "job.yaml, line 3, a.b item 2"
    assert str(c.items("")[1].where) == "job.yaml, line 7, a.c item 2"
    assert str(c.items("")[1].at("d").where) == "job.yaml, line 7, a.c item 2.d"


def test_the_span_is_where_the_text_stands() -> None:
    text = "budget:\r\n  usd: 5  # é\r\n  hours: '8'\r\n"
    limits = read_tree(text, "f").at("budget").any_fields("")
    assert [text[slice(*entry.span)] for entry in limits.values()] == ["5", "'8'"]


@pytest.mark.parametrize(
    ("text", "what", "line", "hint"),
    [
        ("", "the job file is empty", 0, "Begin with name:"),
        ("# only a comment\n\n", "the job file is empty", 0, "Begin with name:"),
        ("a:\n\tb: 1", "there is a tab", 2, "Indent with spaces"),
        ("a:\n  b: 1\n\tc: 1", "there is a tab", 3, "Indent with spaces"),
        ("a: b\nc: d: e", "the file is not YAML: mapping values are not allowed here", 2, "in quotes"),
        ("a: [1,\n", "the file is not YAML: while parsing a flow", 2, "brackets"),
        ("a: 'x\n", "the file is not YAML: while scanning a quoted scalar", 2, "quotes"),
        ("a: `x`", "the file is not YAML: while scanning for the next token", 1, "in quotes"),
        ("a:\n  b: 1\n c: 2", "the file is not YAML: while parsing a block mapping", 3, "indentation"),
        ("a: 1\n---\nb: 1", "the file is not YAML: expected a single document", 2, "one job"),
        ("a: *b", "the file is not YAML: found undefined alias", 1, ""),
        ("a: 1\nb: \x01", "the file is not YAML: unacceptable character", 2, "UTF-8"),
        ("a: \ud800", "the file is not YAML: unacceptable character", 1, "UTF-8"),
        ("%YAML 9.9\n---\na: 1", "the file is not YAML: found incompatible YAML document", 1, ""),
        ('a: "\\UFFFFFFFF"', "the file is not YAML: ", 0, "escapes"),
        ("a: 1\nb: " + "[" * 600, "the file is nested too deeply", 2, "few levels"),
        ("a: 1\nb: 2\na: 3", "the key 'a' comes twice", 3, "on line 1 as well"),
        ("a: 1\n? [x]\n: y", "a key is not a text", 2, "key: value"),
        ("a: &x 1\nb: *x", "anchors and aliases (&x) are not used here", 1, "Write it out"),
        ("a: &x [*x]", "anchors and aliases (&x) are not used here", 1, "Write it out"),
        ("a: &x\nb: &x", "anchors and aliases (&x) are not used here", 1, "Write it out"),
        ("&x a: 1", "a key is not a text", 1, "key: value"),
        ("a:\n  <<: {b: 1}", "merge keys (<<) are not used here", 2, "Write it out"),
        ("a: !!python/object:os.system x", "the tag tag:yaml.org,2002:python/object:os.system", 1, "Leave it out"),
        ("a: !mine x", "the tag !mine is not used here", 1, "Leave it out"),
        ("a: .inf", ".inf is not a finite number", 1, "Write a number"),
        ("a: -.Inf", "-.Inf is not a finite number", 1, "Write a number"),
        ("a: .nan", ".nan is not a finite number", 1, "Write a number"),
        ("a: 1e999", "1e999 is too large a number", 1, "Stay below 1e308"),
        ("a: " + "9" * 5000, "99999999999999999999... is too large a number", 1, "Stay within 1e18"),
        ("a: 0x" + "f" * 50, "0x" + "f" * 50 + " is too large", 1, "Stay within 1e18"),
        ("a: -1000000000000000001", "-1000000000000000001 is too large", 1, "Stay within 1e18"),
        ('a: "x\\0y"', "the text holds a character that is none", 1, "escapes"),
        ('a: "\\uD800"', "the text holds a character that is none", 1, "escapes"),
    ],
)
def test_what_is_not_read(text: str, what: str, line: int, hint: str) -> None:
    with pytest.raises(JobError) as caught:
        read_tree(text, "job.yaml")
    error = caught.value
    assert error.what.startswith(what)
    assert f"{error.where}, ".startswith(f"job.yaml, line {line}, " if line else "job.yaml, ")
    assert hint in error.hint


@given(st.one_of(st.text(), st.text(st.characters()), st.text("ab:-[]{}&*!|>'\"%@`#,? \n\t\\\r0.e~<", max_size=60)))
def test_any_text_is_a_tree_or_a_job_error(text: str) -> None:
    try:
        read_tree(text, "f")
    except JobError as error:
        assert error.hint


ENTRY = Entry([], Where("f", 3, "a.b"), written="[]")


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda entry: entry.text("h"), "a list where a text is expected"),
        (lambda entry: entry.number("h"), "a list where a number is expected"),
        (lambda entry: entry.whole("h"), "a list where a whole number is expected"),
        (lambda entry: entry.truth("h"), "a list where true or false is expected"),
        (lambda entry: entry.quantity("time", "h"), "a list where an amount of time is expected"),
        (lambda entry: entry.scalar("a leaf", "h"), "a list where a leaf is expected"),
        (lambda entry: entry.fields([], "h"), "a list where a mapping is expected"),
        (lambda entry: entry.any_fields("h"), "a list where a mapping is expected"),
    ],
)
def test_another_type_is_refused(call: object, what: str) -> None:
    assert callable(call)
    with pytest.raises(JobError) as caught:
        call(ENTRY)
    assert (caught.value.what, caught.value.where, caught.value.hint) == (what, "f, line 3, a.b", "h")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("null", "nothing"),
        ("true", "true"),
        ("5", "5"),
        ("{b: 1}", "a mapping"),
        ("x", "'x'"),
        ("'" + "x" * 99 + "'", "'xxx"),
    ],
)
def test_what_stands_there_is_shown(text: str, shown: str) -> None:
    entry = read_tree(f"a: {text}", "f").at("a")
    with pytest.raises(JobError) as caught:
        entry.items("h")
    assert caught.value.what.startswith(shown)
    assert len(caught.value.what) < 100


def test_true_is_no_number() -> None:
    entry = Entry(True, Where("f"), written="true")
    for read in (entry.number, entry.whole):
        with pytest.raises(JobError, match="true where"):
            read("h")


def test_a_number_where_a_text_is_expected_may_be_quoted() -> None:
    with pytest.raises(JobError, match=r"7\.10 where|7\.1 where") as caught:
        Entry(7.1, Where("f"), written="7.10").text("Write a name")
    assert caught.value.hint == "Put it in quotes if it is meant as text: '7.10'. Write a name"


def test_unknown_keys_are_guessed() -> None:
    entry = read_tree("stratgy: 1", "f")
    with pytest.raises(JobError, match=r"unknown key 'stratgy' \(f, line 1, stratgy\). Did you mean 'strategy'\?"):
        entry.fields(["strategy", "seed"], "h")
    with pytest.raises(JobError, match="Did you mean 'linear'"):
        read_tree("uniform: 1", "f").fields(["linear"], "h", synonyms={"uniform": "linear"})
    with pytest.raises(JobError) as caught:
        read_tree("xyz: 1", "f").fields(["linear"], "h")
    assert caught.value.hint == "Known keys: linear"


def test_what_the_domain_refuses_is_blamed_on_the_entry() -> None:
    with pytest.raises(JobError) as caught, ENTRY.blamed("b: "):
        raise SpaceError("bad", where="somewhere", hint="Write choice(5)", job_hint="Write [5]")
    assert str(caught.value) == "b: bad (f, line 3, a.b). Write [5]"
    whole = read_tree("lr: 1\nx:\n  when: 3", "f")
    with pytest.raises(JobError, match=r"bad \(f, line 3, x.when\)"), whole.blamed():
        raise SpaceError("bad", hint="h", path=("x", "when"))
    own = JobError("mine", where="here")
    with pytest.raises(JobError) as caught, ENTRY.blamed():
        raise own
    assert caught.value is own
