"""A stranger's first hour: one's own files, few words, programs that read, and Ctrl-C."""

import json
import subprocess
from pathlib import Path

import polars as pl
import pytest

from discreet.cli import extras, pages
from discreet.data.ratings import Ratings
from discreet.errors import ParameterError
from discreet.experiments.source import Source
from discreet.kernels import ahead
from discreet.schemes.tally import Tally
from tests.cli.running import COMMAND, ok, refused, run

ROOT = Path(__file__).parents[2]
SHOP = "Customer ID;article;mark\n" + "".join(
    f"c{k:03};{(k + j) % 7:04};{k * j % 11}\n" for k in range(1, 25) for j in range(1, 4)
)
CATALOGUE = "article|label|year\n" + "".join(f"{k:04}|Thing {k}|{1990 + k}\n" for k in range(7))
FIT = ("--scale", "0:10", "--columns", "rating=mark", "--separator", ";", "--privacy", "uniform:1")
ITEMS = ("--items", "things.txt", "--item-separator", "|", "--item-columns", "title=label")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Two files as a shop may export them."""
    (tmp_path / "sales.csv").write_text(SHOP)
    (tmp_path / "things.txt").write_text(CATALOGUE)
    return tmp_path


def test_one_s_own_files_become_lists_with_titles(shop: Path) -> None:
    assert "Release saved" in ok("fit", "sales.csv", *FIT, *ITEMS, cwd=shop)
    (shop / "mine.csv").write_text("article,stars\n0001,9\n")
    listed = ok("recommend", "release", "--ratings", "mine.csv", "-n", "2", cwd=shop)
    assert "Thing" in listed
    assert "0002" in ok("recommend", "release", "-n", "7", cwd=shop)  # zeros are kept
    mapped = ("--separator", "|", "--columns", "title=label")
    assert "title" in ok("inspect", "things.txt", *mapped, cwd=shop)


@pytest.mark.parametrize("engine", ["local", "stream"])
def test_quiet_says_nothing_and_json_is_for_programs(engine: str, shop: Path) -> None:
    words = ("fit", "sales.csv", *FIT, "--engine", engine)
    done = run(*words, "--quiet", cwd=shop)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert json.loads(ok(*words, "--json", cwd=shop))["promise"]["status"] == "conditional"
    assert "leave --quiet" in refused(*words[:-2], "--quiet", "--trace", cwd=shop)


def test_results_are_rows_for_programs(shop: Path) -> None:
    found = json.loads(ok("evaluate", "sales.csv", *FIT, "--no-baselines", "--json", cwd=shop))
    assert [row["scheme"] for row in found] == ["tally"]
    assert ok("evaluate", "sales.csv", *FIT, "--no-baselines", "-q", cwd=shop) == ""


def test_a_sweep_reads_both_tables_and_prints_rows(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []

    def measured(source: Source, *_: object, **__: object) -> pl.DataFrame:
        items = source.load_items()
        read.extend([len(source.load()), items and items.titles(["0003"])])
        (shop / "sweep").mkdir()
        return pl.DataFrame({"epsilon": [1.0], "rmse": [None], "ndcg@10": [None]})

    monkeypatch.setattr("discreet.experiments.run.sweep", measured)
    assert json.loads(ok("sweep", "sales.csv", *FIT[:-2], *ITEMS, "--json", cwd=shop)) == [
        {"epsilon": 1.0, "rmse": None, "ndcg@10": None}
    ]
    assert read == [72, ["Thing 3"]]


def test_many_people_s_lists_go_to_a_file(small: Ratings, tmp_path: Path) -> None:
    Tally().fit(small, seed=1).release.save(tmp_path / "release")
    small.to_frame().write_csv(tmp_path / "all.csv")
    words = ("recommend", tmp_path / "release", "--ratings", tmp_path / "all.csv")
    assert "holds 40 people: write their lists to a file with --out" in refused(*words)
    assert len(json.loads(ok(*words, "-n", "1", "--json"))) == 40


@pytest.mark.parametrize("words", [("fit", "sales.csv", *FIT), ("evaluate", "sales.csv", *FIT)])
def test_an_interrupted_command_says_so_and_leaves_nothing(
    words: tuple[str, ...], shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Tally, "fit", interrupt)
    before = sorted(shop.iterdir())
    done = run(*words, cwd=shop)
    assert done.returncode == 130
    assert "Interrupted: no file was left half-written." in done.stderr
    assert sorted(shop.iterdir()) == before


def test_extras_are_looked_for_before_work_begins(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    needing = {
        ("audit",): "scipy, scikit-learn: pip install 'discreet[audit]'",
        ("reproduce", "--data", "club"): "matplotlib: pip install 'discreet[plots]'",
        ("fit", "sales.csv", "--engine", "spark"): "pip install 'discreet[spark]'",
        ("operate", "ledger"): "pip install 'discreet[serve]'",
    }
    for words, message in needing.items():
        assert message in refused(*words, cwd=shop)
    assert extras.tell_undrawn()
    told = capsys.readouterr().err
    assert told.startswith("No figures will be drawn without matplotlib: pip install 'discreet[")


def test_the_doctor_says_what_there_is(tmp_path: Path) -> None:
    told = json.loads(ok("doctor", "--json", DISCREET_DATA=str(tmp_path)))
    assert set(told) == {"installed", "machine", "extras", "data", "caches"}
    assert told["data"]["club"] == "embedded"
    assert "bytes wide" in told["machine"]["vectors"]
    assert set(told["extras"]) == set(extras.EXTRAS)


def test_the_doctor_names_the_remedy_for_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    assert "pip install 'discreet[plots]'" in ok("doctor")


def test_an_error_names_the_section_that_explains_it(shop: Path) -> None:
    told = {
        ("fit", "sales.csv"): "help: discreet help tables#separator",
        ("fit", "nowhere.csv"): "help: discreet help tables#files",
        ("fit", "sales.csv", *FIT[:-1], "0.5"): "help: discreet help tables#levels",
        ("recommend", "nowhere"): "help: discreet help lists#when-a-release-cannot-be-read",
        ("fit", "sales.csv", "--scale", "5"): "help: discreet fit --help",
        ("data", "reduce", "sales.csv", "--scale", "5"): "help: discreet data reduce --help",
    }
    for words, last in told.items():
        assert run(*words, cwd=shop).stderr.splitlines()[-1] == last
    assert "# Your own table" in ok("help", "tables")
    assert pages.explained_by(ParameterError()) is None


def test_every_section_that_errors_name_is_there() -> None:
    for _, _, place in pages._EXPLAINED:
        assert 40 < len(ok("help", place)) < len(ok("help", place.partition("#")[0]))
    told = ok("help", "tables#separator")
    assert told.startswith("### Separator")
    assert "### Encoding" not in told
    assert "there are your-own-table" in refused("help", "tables#cooking")


def test_every_page_of_the_list_is_there_and_shipped() -> None:
    shipped = (ROOT / "pyproject.toml").read_text()
    listed = ok("help")
    for page in pages.PAGES:
        assert page in listed
        assert pages.read_page(page).startswith("# ")
        assert f'"docs/{page}.md" = "discreet/docs/{page}.md"' in shipped
    assert "must be one of" in refused("help", "cooking")


@pytest.mark.parametrize("group", [(), ("operate",), ("data",), ("ledger",)])
def test_a_list_of_commands_explains_each_in_a_whole_sentence(group: tuple[str, ...]) -> None:
    told = ok(*group, "--help", COLUMNS="80").partition("Commands:")[2]
    assert told
    assert "..." not in told
    assert max(map(len, told.splitlines())) <= 80


def test_what_fit_prints_for_programs_is_the_certificate_that_was_saved(shop: Path) -> None:
    printed = json.loads(ok("fit", "sales.csv", *FIT, "--json", cwd=shop))
    saved = json.loads(ok("inspect", "release", "--json", cwd=shop))
    assert printed == saved
    assert printed["digest"]


def test_an_item_table_that_calls_the_item_otherwise_is_told_how_to_map_it(shop: Path) -> None:
    (shop / "odd.csv").write_text("Ding;Name\n0001;A\n0002;B, C\n")
    assert "--item-separator ';'" in refused("inspect", "odd.csv", cwd=shop)
    words = ("inspect", "odd.csv", "--separator", ";")
    assert "--item-columns item=..." in refused(*words, cwd=shop)
    assert "names the items" in ok(*words, "--item-columns", "item=Ding", cwd=shop)


def test_a_fit_says_what_would_bring_titles(shop: Path) -> None:
    bare = ok("fit", "sales.csv", *FIT, cwd=shop)
    assert "With a table of items, --items TABLE, lists have titles" in bare
    untitled = ok("fit", "sales.csv", *FIT, *ITEMS[:-2], cwd=shop)
    assert "No column of the item table is the title: --item-columns title=NAME." in untitled
    assert "title=NAME" not in ok("fit", "sales.csv", *FIT, *ITEMS, cwd=shop)


def test_lists_without_titles_show_none(shop: Path) -> None:
    ok("fit", "sales.csv", *FIT, "--quiet", cwd=shop)
    listed = ok("recommend", "release", cwd=shop)
    assert "title" not in listed
    assert "--rank-by liked" in listed  # scores need not fall: it says why


def test_the_shell_completes_options_of_schemes() -> None:
    words = {"COMP_WORDS": "discreet fit --thre", "COMP_CWORD": "2"}
    done = run(_DISCREET_COMPLETE="complete_bash", **words)
    assert "--threshold" in done.stdout.split()


@pytest.mark.parametrize(
    "words", [("fit", *FIT), ("evaluate", "--no-baselines", *FIT), ("recommend", "-n", "1")]
)
def test_a_first_run_says_that_it_compiles(
    words: tuple[str, ...], shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[bool] = []
    monkeypatch.setattr(ahead, "cache_folder", lambda: shop / "nothing" / "there")
    monkeypatch.setattr(ahead, "compile_ahead", lambda: started.append(True))
    command, *rest = words
    table = "release" if command == "recommend" else "sales.csv"
    if command == "recommend":
        assert ok("fit", "sales.csv", *FIT, "-q", cwd=shop) == ""
    done = run(command, table, *rest, cwd=shop)
    assert done.returncode == 0
    assert done.stderr.startswith("Compiling what this command needs, once after an installation")
    assert started


def test_what_diverges_leaves_the_others_their_rows(shop: Path) -> None:
    words = ("evaluate", "sales.csv", *FIT, "--gamma", "5000", "--scheme", "pdp-pmf")
    assert "gamma = 5000 diverges" in refused(*words, cwd=shop)
    both = (*words, "--scheme", "tally", "--no-baselines")
    done = run(*both, cwd=shop)
    assert done.returncode == 0, done.stderr
    assert "pdp-pmf printed diverged: gamma = 5000 diverges" in done.stderr
    [line] = [line for line in done.stdout.splitlines() if line.startswith("pdp-pmf printed")]
    assert "diverged" in line
    rows = json.loads(ok(*both, "--json", cwd=shop))
    assert [(row["scheme"], row["diverged"]) for row in rows] == [
        ("pdp-pmf printed", True),
        ("tally", None),
    ]


def test_words_that_cannot_be_meant_are_answered(shop: Path) -> None:
    assert "did you mean uniform:0.5?" in refused(
        "fit", "sales.csv", *FIT[:-1], "0.5", "-q", cwd=shop
    )
    done = run("fit", "sales.csv", *FIT[:-1], "uniform:1000", "-q", cwd=shop)
    assert done.returncode == 0
    assert done.stderr.startswith("Warning: epsilon 1000 protects nobody")
    assert "it is a file, and a release is a folder" in refused("recommend", "sales.csv", cwd=shop)
    assert "--item-columns" in refused("inspect", "release", "--columns", "item=x", cwd=shop)


def test_an_empty_list_says_why(shop: Path) -> None:
    ok("fit", "sales.csv", *FIT, "-q", cwd=shop)
    asked = "No item of the release is what --among and --without ask for"
    assert asked in ok("recommend", "release", "--among", "item=nowhere", cwd=shop)
    (shop / "all.csv").write_text("item,rating\n" + "".join(f"{k:04},5\n" for k in range(7)))
    words = ("recommend", "release", "--ratings", "all.csv")
    for wishes in ((), ("--among", "item=0001")):
        assert "all that could be listed are rated already" in ok(*words, *wishes, cwd=shop)


def test_own_ratings_of_unknown_items_are_told_with_the_difference(shop: Path) -> None:
    ok("fit", "sales.csv", *FIT, "-q", cwd=shop)
    (shop / "mine.csv").write_text("item,rating\n1,9\n2,3\n")
    told = run("recommend", "release", "--ratings", "mine.csv", cwd=shop).stderr
    assert "2 of 2 ratings are of items outside the catalogue" in told
    assert "They differ by leading zeros" in told


def test_columns_are_mapped_one_by_one_or_with_commas(shop: Path) -> None:
    (shop / "german.csv").write_text("Kunde,Artikel,Note\nann,7,9\nbob,8,3\n")
    words = ("fit", "german.csv", "--scale", "0:10", "--privacy", "uniform:1")
    both = ("--columns", "user=Kunde,item=Artikel", "--columns", "rating=Note")
    assert "Release saved" in ok(*words, *both, cwd=shop)


def test_a_full_disk_is_told_in_a_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, "help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "error: what is printed cannot be written: No space left on device\n"


def test_one_person_s_ratings_need_no_user(shop: Path) -> None:
    ok("fit", "sales.csv", *FIT, "-q", cwd=shop)
    (shop / "mine.csv").write_text("item\n0001\n")
    told = refused("recommend", "release", "--ratings", "mine.csv", cwd=shop)
    assert "no column 'rating'" in told
    assert "user" not in told
    (shop / "mine.csv").write_text("item;rating\n0001;5\n")
    told = refused("recommend", "release", "--ratings", "mine.csv", cwd=shop)
    assert "--separator ';'" in told
    (shop / "mine.csv").write_text("item,rating\n0001,11\n")
    told = refused("recommend", "release", "--ratings", "mine.csv", cwd=shop)
    assert "the release knows ratings 0..10" in told
    assert "--scale" not in told


def test_a_stream_reads_what_is_read_whole(shop: Path) -> None:
    rows = SHOP.splitlines()[1:]
    (shop / "odd.csv").write_text("\n".join(["sep=|", *(row.replace(";", " | ") for row in rows)]))
    places = ("user=1", "item=2", "rating=3")
    words = [word for place in places for word in ("--columns", place)]
    how = (*FIT[:2], *words, "--privacy", "uniform:1", "--seed", "1", "--json")
    for engine in ("local", "stream"):
        ok("fit", "odd.csv", *how, "--engine", engine, "--out", engine, cwd=shop)
    ok("fit", "sales.csv", *FIT, "--seed", "1", "-q", "--out", "whole", cwd=shop)
    listed = [ok("recommend", name, "-n", "7", cwd=shop) for name in ("whole", "local", "stream")]
    assert len(set(listed)) == 1
