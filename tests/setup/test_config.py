"""The user's file decides, a repository's file only narrows, and every refusal names the key and what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from console import piped

from rebut.core.errors import ConfigError, UsageError
from rebut.core.files import shipped
from rebut.core.types import ModelSpec
from rebut.setup import config
from rebut.setup.config import Config
from rebut.setup.config_files import user_path
from rebut.setup.config_tables import UserFile, checked


class Desk:
    """A workspace and a user's config folder, both empty at first."""

    def __init__(self, root: Path) -> None:
        self.workspace, self.home = root / "repo", root / "home"
        self.workspace.mkdir()
        (self.home / "rebut").mkdir(parents=True)

    def load(self, user: str = "", repo: str = "", env: Mapping[str, str] | None = None) -> Config:
        if user:
            (self.home / "rebut" / "config.toml").write_text(user, encoding="utf-8")
        if repo:
            (self.workspace / "rebut.toml").write_text(repo, encoding="utf-8")
        return config.load_config(workspace=self.workspace, env={"XDG_CONFIG_HOME": str(self.home), **(env or {})})

    def refusal(self, user: str = "", repo: str = "", env: Mapping[str, str] | None = None) -> ConfigError:
        with pytest.raises(ConfigError) as caught:
            self.load(user, repo, env)
        return caught.value


@pytest.fixture
def setup(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


THREE_LINES = """
[providers.mine]
wire = "openai"
base_url = "https://models.example.org/v1/"
api_key_env = "MINE_KEY"
"""


# Providers ------------------------------------------------------------------------------------------------------------


def test_without_files_the_shipped_provider_is_there(setup: Desk) -> None:  # C1
    found = setup.load().need_provider("openai")
    assert (found.wire, found.base_url, found.api_key_env, found.family) == (
        "openai",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        "openai",
    )


def test_a_repositorys_file_is_not_read_through_a_link_to_another_place(setup: Desk) -> None:  # C16
    (setup.workspace.parent / "own.toml").write_text("[limits]\nrounds = 1\n")
    (setup.workspace / "rebut.toml").symlink_to("../own.toml")
    assert "rebut.toml is a link that leads out of the repository" in setup.refusal().message
    (setup.workspace.parent / ".git").mkdir()
    assert setup.load().ceilings["rounds"] == 1, "now the link stays in the repository"


def test_a_new_provider_is_three_lines(setup: Desk) -> None:  # C1
    found = setup.load(THREE_LINES).need_provider("mine")
    assert (found.name, found.base_url, found.api_key_env) == ("mine", "https://models.example.org/v1", "MINE_KEY")
    assert (found.model, found.family, found.at_once) == ("", "", None)


def test_the_users_table_wins_over_the_shipped_one_key_by_key(setup: Desk) -> None:  # C1
    found = setup.load('[providers.openai]\nmodel = "gpt-5"\nat_once = 3').need_provider("openai")
    assert (found.model, found.at_once, found.base_url) == ("gpt-5", 3, "https://api.openai.com/v1")


def test_the_environment_moves_the_shipped_address_but_not_one_that_the_user_wrote(setup: Desk) -> None:  # C1
    env = {"OPENAI_BASE_URL": "http://127.0.0.1:8080/v1/"}
    assert setup.load(env=env).need_provider("openai").base_url == "http://127.0.0.1:8080/v1"
    written = setup.load('[providers.openai]\nbase_url = "https://proxy.example.org/v1"', env=env)
    assert written.need_provider("openai").base_url == "https://proxy.example.org/v1"


def test_an_unknown_provider_gets_a_guess_and_the_list(setup: Desk) -> None:  # C1, C17
    with pytest.raises(UsageError) as caught:
        setup.load(THREE_LINES).need_provider("opnai")
    assert caught.value.message == "unknown provider 'opnai'"
    guess, _, known = caught.value.hint.rstrip(".").partition(" Known: ")
    assert guess == "did you mean openai?"
    assert known.split(", ") == sorted(known.split(", ")) and {"human", "mine", "ollama"} <= set(known.split(", "))
    assert caught.value.exit_code == 2
    assert setup.load().provider("opnai") is None


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ftp://host/v1", "not an http or https"),
        ("host/v1", "not an http or https"),
        ("https://", "not an http or https"),
        ("https://host:port/v1", "not a valid URL"),
        ("https://me:hunter2@host/v1", "user name or password"),
        ("https://host/v1?key=hunter2", "query or fragment"),
        ("http://models.example.org/v1", "unencrypted"),
        ("http://127.0.0.1.example.org/v1", "unencrypted"),
        ("http://localhost.example.org/v1", "unencrypted"),
        ("http://192.168.0.7:11434/v1", "unencrypted"),
    ],
)
def test_an_address_that_could_leak_is_refused_and_not_repeated(setup: Desk, url: str, says: str) -> None:  # C16
    error = setup.refusal(f'[providers.mine]\nwire = "openai"\nbase_url = "{url}"')
    assert "config.toml: providers.mine.base_url" in error.message and says in error.message and error.hint
    assert "hunter2" not in str(error)


@pytest.mark.parametrize("host", ["localhost:1234", "127.0.0.1", "127.8.9.1:80", "[::1]:8080", "a.localhost"])
def test_plain_http_is_fine_on_this_machine(setup: Desk, host: str) -> None:  # C16
    text = f'[providers.mine]\nwire = "openai"\nbase_url = "http://{host}/v1"'
    assert setup.load(text).need_provider("mine").base_url == f"http://{host}/v1"


def test_plain_http_elsewhere_needs_the_users_word(setup: Desk) -> None:  # C16
    text = '[providers.mine]\nwire = "openai"\nbase_url = "http://box.lan/v1"\nallow_http = true'
    assert setup.load(text).need_provider("mine").base_url == "http://box.lan/v1"


def test_a_bad_address_in_the_environment_stops_only_those_who_need_it(setup: Desk) -> None:  # C16
    loaded = setup.load(THREE_LINES, env={"OPENAI_BASE_URL": "http://box.lan/v1"})
    assert loaded.need_provider("mine").name == "mine"
    with pytest.raises(ConfigError, match=r"OPENAI_BASE_URL .* unencrypted"):
        loaded.need_provider("openai")
    with pytest.raises(ConfigError):
        loaded.provider("openai")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[providers.mine]\nbase_url = "https://h/v1"', "providers.mine has no wire"),
        ('[providers.mine]\nwire = "openai"', "providers.mine has no base_url"),
        ('[providers.mine]\nwire = "telex"\nbase_url = "https://h/v1"', "providers.mine.wire"),
        ('[providers.human]\nwire = "openai"\nbase_url = "https://h/v1"', "built in"),
        ('[providers."a b"]\nwire = "openai"\nbase_url = "https://h/v1"', "not a valid name for a provider"),
        ("[providers.openai]\nat_once = 0", "providers.openai.at_once"),
        ('[limits]\nrounds = "two"', "limits.rounds"),
        ("[limits]\nrounds = true", "limits.rounds"),
        ('[egress]\nallow = "openai"', "egress.allow"),
        ('limits = "none"', "limits"),
    ],
)
def test_a_wrong_value_is_named_by_file_and_key(setup: Desk, text: str, says: str) -> None:  # C17
    error = setup.refusal(text)
    assert error.message.startswith("config.toml: ") and says in error.message and error.hint


def test_a_key_in_place_of_a_key_name_is_refused_and_not_repeated(setup: Desk) -> None:  # C8
    error = setup.refusal('[providers.openai]\napi_key_env = "sk-live-hunter2"')
    assert "providers.openai.api_key_env" in error.message and "hunter2" not in str(error)


def test_known_secrets_are_the_keys_that_are_set(setup: Desk) -> None:  # C8
    loaded = setup.load(THREE_LINES, env={"OPENAI_BASE_URL": "http://box.lan/v1"})
    assert loaded.known_secrets({"MINE_KEY": "one", "OPENAI_API_KEY": "two", "OTHER_KEY": "three"}) == ["two", "one"]
    assert loaded.known_secrets({"MINE_KEY": "", "OPENAI_API_KEY": "two"}) == ["two"]


# Files ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["[limits]\nrounds = \n", '[limits]\nrounds = "2', "[limits]\n[limits]"])
def test_malformed_toml_names_file_and_line(setup: Desk, text: str) -> None:  # C17
    error = setup.refusal(text)
    assert f"{setup.home / 'rebut' / 'config.toml'}, line 2: " in error.message
    assert "rebut.toml, line 2: " in Desk(setup.home).refusal(repo=text).message


def test_bytes_that_are_no_text_name_file_and_line(setup: Desk) -> None:  # C17
    (setup.workspace / "rebut.toml").write_bytes(b"# fine\n# \xff\n")
    assert "rebut.toml, line 2: not UTF-8" in setup.refusal().message


@pytest.mark.parametrize(
    ("text", "key", "guess"),
    [
        ("[limits]\nround = 2", "limits.round", "rounds"),
        ('[provider.openai]\nmodel = "x"', "provider", "providers"),
        ('[providers.openai]\nbaseurl = "https://h/v1"', "providers.openai.baseurl", "base_url"),
        ('[egress]\nnevr = ["*.pem"]', "egress.nevr", "never"),
        ('[seats]\nproposr = "openai"', "seats.proposr", "proposer"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known_one(
    setup: Desk, text: str, key: str, guess: str
) -> None:  # C17
    error = setup.refusal(text)
    assert error.message == f"config.toml: unknown key {key}"
    assert error.hint.startswith(f"Did you mean {guess}? Known here: ")


def test_another_file_can_be_named_and_must_then_exist(setup: Desk, tmp_path: Path) -> None:  # C1
    other = tmp_path / "other.toml"
    with pytest.raises(ConfigError, match="cannot read"):
        setup.load(env={"REBUT_CONFIG": str(other)})
    other.write_text("[limits]\nrounds = 3")
    assert setup.load("[limits]\nrounds = 4", env={"REBUT_CONFIG": str(other)}).limits["rounds"] == 3
    given = config.load_config(workspace=setup.workspace, env={"REBUT_CONFIG": "/nowhere"}, user_file=other)
    assert given.limits["rounds"] == 3


def test_the_place_of_the_users_file_follows_the_environment_given() -> None:  # C1
    home = str(Path.cwd())
    assert user_path({"XDG_CONFIG_HOME": home}) == Path(home, "rebut", "config.toml")
    assert user_path({"XDG_CONFIG_HOME": "relative"}).is_absolute()


# Limits, seats --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "name", "taken"),
    [
        ("rounds = 9", "rounds", 5),
        ("rounds = 0", "rounds", 1),
        ("timeout = 1", "timeout", 5),
        ("timeout = 9000.5", "timeout", 3600),
        ("usd = -1", "usd", 0.01),
        ("usd = 0", "usd", 0.01),
        ("usd = inf", "usd", 10_000),
        ("minutes = nan", "minutes", 1),
        ("calls = 0", "calls", 1),
        ("tokens = 1", "tokens", 1000),
    ],
)
def test_a_limit_out_of_range_is_clamped_and_said(setup: Desk, line: str, name: str, taken: float) -> None:  # C4
    loaded = setup.load(f"[limits]\n{line}")
    assert loaded.limits[name] == taken
    (notice,) = loaded.notices
    assert f"config.toml: limits.{name}" in notice and f"{taken:g} is used" in notice


def test_limits_in_range_are_taken_without_a_word(setup: Desk) -> None:  # C4
    text = "[limits]\nrounds = 2\nminutes = 30\ntokens = 50000\nusd = 1.5\ncalls = 40\ntimeout = 120"
    loaded = setup.load(text)
    assert loaded.limits == {"rounds": 2, "minutes": 30, "tokens": 50_000, "usd": 1.5, "calls": 40, "timeout": 120}
    assert loaded.notices == () and loaded.ceilings == {}


def test_default_seats_are_specs_and_a_bad_one_is_named(setup: Desk) -> None:  # C1
    seats = setup.load('[seats]\nproposer = "openai:gpt-5@high"\njudge = "human"').seats
    assert seats == {"proposer": (ModelSpec("openai", "gpt-5", "high"),), "judge": (ModelSpec("human"),)}
    error = setup.refusal('[seats]\njudge = "openai@huge"')
    assert "config.toml: seats.judge: unknown effort" in error.message and "low" in error.hint


# A repository may only narrow -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('command = ["rm", "-rf", "/"]', "commands"),
        ('base_url = "https://evil.example"', "addresses"),
        ('base_url_env = "X"', "addresses"),
        ("allow_http = true", "addresses"),
        ('headers = { a = "b" }', "headers"),
        ('api_key_env = "AWS_SECRET_ACCESS_KEY"', "key names"),
    ],
)
def test_a_repository_may_not_choose_what_runs_or_where_it_goes(setup: Desk, line: str, what: str) -> None:  # C16
    error = setup.refusal(repo=f'[providers.claude]\nmodel = "x"\n{line}')
    key = line.partition(" =")[0]
    assert error.message == f"rebut.toml sets providers.claude.{key}; a repository may not choose {what}"
    assert error.hint == "Move it to your own config (`rebut config path`)."
    assert error.exit_code == 2


@pytest.mark.parametrize(
    "repo", ['[providers.openai]\nmodel = "x"', "[providers.openai]", "[providers]", "providers = 1"]
)
def test_a_repository_may_not_touch_providers_at_all(setup: Desk, repo: str) -> None:  # C16
    assert "a repository may not choose providers" in setup.refusal(repo=repo).message


def test_a_repository_may_not_seat_anyone(setup: Desk) -> None:  # C16
    assert "may not choose models" in setup.refusal(repo='[seats]\njudge = "openai"').message


def test_an_unknown_key_in_a_repository_is_an_error_too(setup: Desk) -> None:  # C16
    error = setup.refusal(repo='[egres]\nallow = ["openai"]')
    assert error.message == "rebut.toml: unknown key egres" and "Did you mean egress?" in error.hint


def test_the_lower_limit_wins_whoever_set_it_and_it_is_said(setup: Desk) -> None:  # C16, C4
    loaded = setup.load("[limits]\nrounds = 4\ntimeout = 60\ncalls = 9", "[limits]\nrounds = 2\ntimeout = 90\nusd = 3")
    assert loaded.limits == {"rounds": 2, "timeout": 60, "usd": 3, "calls": 9}
    assert [n.split(":")[0] for n in loaded.notices] == ["limits.rounds", "limits.timeout"]
    assert "rebut.toml lowers it, so 2" in loaded.notices[0]
    assert "a repository may not raise it, so 60" in loaded.notices[1]


def test_a_repositorys_limit_never_lifts_a_default_or_a_flag(setup: Desk) -> None:  # C16, C4
    loaded = setup.load(repo="[limits]\nrounds = 3")
    assert [loaded.capped("rounds", asked) for asked in (2, 3, 5)] == [2, 3, 3]
    assert loaded.capped("calls", 100) == 100


def test_a_repository_can_only_shorten_the_list_of_providers(setup: Desk) -> None:  # C16
    loaded = setup.load('[egress]\nallow = ["openai", "mine"]', '[egress]\nallow = ["mine", "other"]')
    assert [loaded.allowed(p) for p in ("openai", "mine", "other")] == [False, True, False]
    assert [loaded.listed(p) for p in ("openai", "mine", "other")] == [False, True, False]
    (notice,) = loaded.notices
    assert "other" in notice and "your list counts" in notice


def test_a_repositorys_list_alone_narrows_what_is_named_and_lists_nobody(setup: Desk) -> None:  # C16
    loaded = setup.load(repo='[egress]\nallow = ["mine"]')
    assert [loaded.allowed(p) for p in ("openai", "mine")] == [False, True]
    assert not loaded.listed("mine")


def test_no_list_forbids_nothing_but_lists_nobody_and_an_empty_list_forbids_all(setup: Desk) -> None:  # C16
    free = setup.load()
    assert free.allowed("openai") and not free.listed("openai")
    shut = setup.load("[egress]\nallow = []")
    assert not shut.allowed("openai")
    assert shut.allowed("human") and shut.allowed("scripted") and shut.listed("human")


def test_globs_that_never_leave_add_up(setup: Desk) -> None:  # C16
    loaded = setup.load('[egress]\nnever = ["*.pem", "a/**"]', '[egress]\nnever = ["b/**", "*.pem"]')
    assert loaded.never == ("*.pem", "a/**", "b/**")


def test_show_tells_what_both_files_come_to(setup: Desk) -> None:  # C16
    mine = '[seats]\njudge = "openai:m"\n[limits]\ncalls = 9\n[egress]\nallow = ["openai", "google"]\n'
    setup.load(
        f'{mine}[gate]\nfail_on = "P2"\n',
        '[limits]\ncalls = 4\nrounds = 1\n[egress]\nallow = ["google"]\nnever = ["*.sql"]\n',
    )
    env = {"XDG_CONFIG_HOME": str(setup.home)}
    shown = json.loads(piped("config", "--json", env=env, cwd=setup.workspace).stdout)
    assert (shown["seats"], shown["limits"]) == ({"judge": "openai:m"}, {"rounds": 1, "calls": 4})
    assert (shown["allow"], shown["never"], shown["gate"]) == (["google"], ["*.sql"], {"fail_on": "P2"})
    said = piped("config", env=env, cwd=setup.workspace).stdout
    for row in (
        "seats        judge openai:m",
        "limits       rounds 1, calls 4",
        "allow        google",
        "never        *.sql",
    ):
        assert f"  {row}\n" in said


def test_seats_may_name_the_roles_of_any_protocol_and_lists_for_roles_with_several_seats(setup: Desk) -> None:
    seats = setup.load('[seats]\nowner = "human"\nauthor = ["claude", "codex"]\nsynthesizer = "claude"').seats
    assert {role: [str(spec) for spec in specs] for role, specs in seats.items()} == {
        "owner": ["human"],
        "author": ["claude", "codex"],
        "synthesizer": ["claude"],
    }


def test_the_shipped_providers_are_valid_tables_and_share_no_name_with_a_tool() -> None:  # C1
    # Shipped tables are not checked at run time, and a provider's name must not make rebut load the tools.
    providers, tools = shipped("providers.toml"), shipped("tools.toml")["tools"]
    assert checked(UserFile, {"providers": providers}, "providers.toml") == {"providers": providers}
    assert not set(providers) & set(tools)


def test_without_a_config_file_neither_pydantic_nor_the_tables_are_loaded(tmp_path: Path) -> None:  # house rule 5
    program = (
        "import sys; from pathlib import Path; from rebut.setup import config\n"
        "config.load_config(workspace=Path(sys.argv[1]), env={'XDG_CONFIG_HOME': sys.argv[1]})"
        ".provider('openai').name\n"
        "print(sorted(m for m in sys.modules if m in ('pydantic', 'difflib', 'platformdirs') or m.endswith('.tables')))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_password_of_a_database_is_a_known_secret(setup: Desk) -> None:  # C8
    env = {"REBUT_HOME": "postgresql://me:open%2Dsesame@db/rebut"}
    assert "open-sesame" in setup.load("").known_secrets(env)
    assert setup.load("").known_secrets({"REBUT_HOME": "/srv/rebut"}) == []
