import pytest

from runner.llm.address import address_problem, variable_problem

NO_NAME = (
    "expected the NAME of the environment variable that holds the key, such as OPENAI_API_KEY, or null; what is "
    "given is no such name (and not shown here, as it may be the key)"
)
UNSEEN = "this one holds a space or a character that cannot be seen"
PRIVATE = (
    "this one holds user:password@, ? or #, and it is kept with the results: put the key into an environment "
    "variable, and its NAME into api_key_env"
)
SCHEME = "this one does not start with http:// or https://"
HOST = "the host of this one is missing or cannot be read"
PORT = "the port of this one is not a number from 1 to 65535"


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8080/v1",
        "https://api.openai.com/v1/",
        "HTTP://localhost",
        "http://[::1]:8080/v1",
        "http://[FE80::1%eth0]:8080/v1",
        "http://my_server.:1/v1",
        "http://서버.example/한글/v1",
        "http://127.0.0.1:/v1",
    ],
)
def test_an_address(address: str) -> None:
    assert address_problem(address) is None


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("http://exa mple/v1", UNSEEN),
        ("http://a\nb/v1", UNSEEN),
        ("http://user:hunter22@127.0.0.1/v1", PRIVATE),
        ("http://hunter22@127.0.0.1/v1", PRIVATE),
        ("http://user:12/hunter22@127.0.0.1/v1", PRIVATE),
        ("user:hunter22@127.0.0.1/v1", PRIVATE),
        ("http://127.0.0.1/v1?api_key=hunter22", PRIVATE),
        ("http://127.0.0.1/v1#hunter22", PRIVATE),
        ("", SCHEME),
        ("sk-hunter22", SCHEME),
        ("localhost:8080/v1", SCHEME),
        ("ftp://x", SCHEME),
        ("http:/127.0.0.1/v1", SCHEME),
        ("http://", HOST),
        ("http:///v1", HOST),
        ("http://:8080/v1", HOST),
        ("http://[::1/v1", HOST),
        ("http://[::g]/v1", HOST),
        ("http://[127.0.0.1]/v1", HOST),
        ("http://ab[::1]/v1", HOST),
        ("http://[::1]ab/v1", HOST),
        ("http://999.1.1.1/v1", HOST),
        ("http://127.1/v1", HOST),
        ("http://a..b/v1", HOST),
        (f"http://{'a' * 64}.b/v1", HOST),
        ("http://a<b/v1", HOST),
        ("http://%zz/v1", HOST),
        ("http://x\\y/v1", HOST),
        ("http://h:0/v1", PORT),
        ("http://h:99999/v1", PORT),
        ("http://h:-1/v1", PORT),
        ("http://h:80a/v1", PORT),
        ("http://::1/v1", PORT),
    ],
)
def test_what_is_no_address_is_told_without_it(address: str, fault: str) -> None:
    assert address_problem(address) == f"expected an address such as http://127.0.0.1:8080/v1; {fault}"


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "_x", "key2", "HF_HUB_INFERENCE_TOKEN_2", "a" * 64, "SK_KEY"])
def test_the_name_of_a_variable(name: str) -> None:
    assert variable_problem(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "",
        "1KEY",
        "MY KEY",
        "MY-KEY",
        "KEY\n",
        "키",
        "sk-hunter22",
        "sk_live_hunterhunterhunter",
        "gsk_HunterHunterHunter",
        "hf_HunterHunterHunter",
        "AIzaSyHunter22Hunter22Hunter22",
        "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4",
        "A" * 65,
    ],
)
def test_what_is_no_name_may_be_a_key_and_is_not_repeated(name: str) -> None:
    assert variable_problem(name) == NO_NAME
