"""Which texts have secrets in them. Every secret here was made up."""

from time import process_time

import pytest

from alma_guard import Redactor

REDACTED = Redactor(b"key of a store")
DRAWN = "q7Zk2VxT9mLw4RsB8nYc3HdJ6fGp"


def hexadecimal(digits: int) -> str:
    return ("9c4e7a1f03b8d256" * 8)[:digits]


@pytest.mark.parametrize(
    ("kind", "secret"),
    [
        ("alma_token", "alma_k3vq7xwd_" + DRAWN + "x-_Q8zL2mN5r7Tj3WbYKa"),
        ("github_token", "ghp_" + DRAWN + "a1B2c3D4"),
        ("gitlab_token", "glpat-" + DRAWN[:20]),
        ("aws_key", "AKIA" + "Q3EGRTY7WUJHM2ZX"),
        ("google_key", "AIza" + DRAWN + "a1B2c3D"),
        ("openai_key", "sk-proj-" + DRAWN * 3),
        ("anthropic_key", "sk-ant-api03-" + DRAWN * 3),
        ("slack_token", "xoxb-123456789012-123456789012-" + DRAWN[:24]),
        ("stripe_key", "sk_live_" + DRAWN[:24]),
        ("jwt", f"eyJhbGciOiJIUzI1NiJ9.eyJ{DRAWN}.{DRAWN}"),
        ("vault_token", "hvs." + DRAWN * 3),
        ("telegram_token", "1234567890:AA" + DRAWN + "x9Y8z"),
        ("api_key", "figd_" + DRAWN),
        ("api_key", "PMAK-" + hexadecimal(24) + "-" + hexadecimal(34)),
        ("webhook_url", "https://hooks.slack.com/services/T01ABCDEF/B01ABCDEFG/" + DRAWN[:24]),
    ],
)
@pytest.mark.parametrize("around", ["{}", "Client('{}')", "It said: {}, and stopped.", "GET /items?q={}&page=2"])
def test_a_token_is_known_by_its_shape(kind: str, secret: str, around: str) -> None:
    assert REDACTED(around.format(secret)).startswith(around.partition("{}")[0] + f"[secret:{kind}:")
    assert secret not in REDACTED(around.format(secret))


@pytest.mark.parametrize(
    "around",
    [
        "DB_PASSWORD={}",
        "export API_TOKEN='{}'",
        "password: {}",
        '{{"client_secret": "{}"}}',
        '{{\\"password\\": \\"{}\\"}}',
        'System.setProperty("apiToken", "{}")',
        "os.environ['SECRET_KEY'] = '{}'",
        '"accessToken" => "{}",',
        "<AccountKey>{}</AccountKey>",
        "--api-key {} --verbose",
        "--password={}",
        "Server=db;User Id=sa;Password={};Encrypt=yes",
        "the passphrase is {}.",
        "Das Passwort lautet {}.",
        "le mot de passe est {}",
        "contraseña: {}",
        "a senha é {}",
        "Пароль: {}",
        '<add key="DbPassword" value="{}"/>',
        '{{"name": "DB_PASSWORD", "value": "{}"}}',
        "- name: DB_PASSWORD\n  value: {}",
        "Login worked with user admin and password {}",
        "machine api.example.org login bob password {}",
        "GET /items?access_token={}&page=2",
        "Authorization: Bearer {}",
        "curl -H 'X-Auth-Token: {}' https://api.example.org",
        "curl -u bob:{} https://api.example.org",
        "sshpass -p '{}' ssh bob@host",
        "mysql -u root -p{} shop",
        "redis://:{}@cache:6379/0",
        "postgresql://shop:{}@db.internal/shop",
        "CREATE USER shop IDENTIFIED BY '{}';",
        "Cookie: sessionid={}; theme=dark",
    ],
)
def test_a_secret_is_known_by_the_name_beside_it_or_by_its_place(around: str) -> None:
    before, after = around.replace("{{", "{").replace("}}", "}").split("{}")

    redacted = REDACTED(around.format(DRAWN))

    assert redacted.startswith(f"{before}[secret:")
    assert redacted.endswith(f"]{after}")


@pytest.mark.parametrize(
    "said",
    [
        "the password hunter2-now works",
        "net user bob the password p@ssw0rd!",
        "mysql --password Sunshine-1 shop",
        "the password is Sunshine1!",
        "password (tr0ub4dor)",
    ],
)
def test_a_password_is_known_in_a_sentence(said: str) -> None:
    assert "[secret:password:" in REDACTED(said)


@pytest.mark.parametrize("password", ["hunter2", "Tr0ub4dor&3", "correct-horse-42", "p@ssw0rd!"])
def test_a_password_needs_no_length(password: str) -> None:
    assert password not in REDACTED(f"password={password}")


def test_a_private_key_goes_whole_and_a_public_one_stays() -> None:
    lines = "\n".join([DRAWN * 2] * 5)
    private = f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----"
    public = private.replace("RSA PRIVATE", "PUBLIC")

    assert REDACTED(f"The key:\n{private}\nworked").count(DRAWN) == 0
    assert REDACTED(f"The key:\n{public}\nworked") == f"The key:\n{public}\nworked"


def test_what_was_found_once_is_replaced_wherever_else_it_stands_in_the_text() -> None:
    assert DRAWN not in REDACTED(f"password={DRAWN}; then it printed {DRAWN} again")


@pytest.mark.parametrize(
    "text",
    [
        f"git checkout {hexadecimal(40)}",
        f"image pinned to shop@sha256:{hexadecimal(64)}",
        f"public key fingerprint SHA256:{DRAWN}a1B2c3D4e5F6g7H",
        "Das Passwort ist falsch, die Anmeldung gesperrt",
        "La contraseña es incorrecta",
        f"cache_key={hexadecimal(32)}",
        "credentialsId: 'ff083f76-7804-4ef1-80e4-fe975bb9141b'",
        "The episode 018f3c6e-7b1a-7c4d-9a2b-3c4d5e6f7a8b had the wrong token",
        f"tool call call_{DRAWN} looked up the API key",
        f"next_page_token: {DRAWN}",
        f"ssh-rsa AAAAB3NzaC1yc2E{DRAWN * 4} public key of bob",
        f"src: url(data:font/woff2;base64,{DRAWN * 6}) and the key",
        "password: ${DB_PASSWORD}",
        "password: {{ vault.password }}",
        "Authorization: Bearer <your-token>",
        "API_KEY=xxxxxxxxxxxxxxxx",
        "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
        "token = os.environ['API_TOKEN']",
        "token=process.env.API_TOKEN",
        "password: str = Field(min_length=8)",
        "postgres://user:password@localhost/db",
        "Password must have 12 characters, one digit and one sign",
        "max_tokens=2000 was too small",
        "the token expires at 2026-01-15T10:00:00Z",
        "KEY_FILE=/srv/secrets/shop/tls.pem",
        "secret_name: shop-db-credentials-2",
        "Run BulkImportV2ControllerTest with the API key of the tests",
        "docker run -p 8080:80 -u 1000:1000 shop",
        "2. **Use a password manager:** it keeps them",
        "**Password Generation:** makes strong, unique ones",
        "Do you know any password managers?",
        "a password (useful if you need a blocked page)",
        "4. **Password protection**: your data is safe",
        "password: 5 wrong tries, then password-protected",
        "fastcgi_pass php:9000;",
        "$adminPassword = ConvertTo-SecureString $env:ADMIN_PASSWORD -AsPlainText -Force",
        "the fields `feeGrowthGlobal0X128` and totalValueLockedToken0 of a token",
        "$250 (expense) - $100 (monthly pass) = $150",
        "",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert REDACTED(text) == text


@pytest.mark.parametrize(
    "text", ["password=" * 20_000, "key " * 50_000, "a" * 200_000, "://" + "@" * 100_000, "eyJ." * 50_000, "=\"'" * 50_000]
)
def test_hostile_text_is_read_in_good_time(text: str) -> None:
    assert len(REDACTED(text)) > 0


@pytest.mark.parametrize(
    "text",
    [
        "pass --no-build-isolation to pip",
        "pass 'utf-8' as the encoding",
        "pass `--no-verify` to git",
        'Pass "timeout=30s" to the client',
        "pass -DCMAKE_BUILD_TYPE=Release to cmake",
        "PASS: tests/unit/test_foo.py::test_bar2",
    ],
)
def test_what_somebody_passes_is_no_password(text: str) -> None:
    assert REDACTED(text) == text


def test_the_pass_that_somebody_has_is_a_password() -> None:
    assert "Xk29dkslq7" not in REDACTED("the pass is Xk29dkslq7, pass: Xk29dkslq7, run --pass Xk29dkslq7")


@pytest.mark.parametrize(
    ("kind", "secret"),
    [
        ("braintree_token", "access_token$" + "production$" + "q7zk2vxt9mlw4rsb" + "$" + hexadecimal(32)),
        ("nuget_key", "oy2" + (DRAWN * 2).lower()[:43]),
        ("firebase_key", "AAAA" + DRAWN[:7] + ":APA91b" + DRAWN * 5),
    ],
)
def test_more_tokens_are_known_by_their_shape(kind: str, secret: str) -> None:
    assert REDACTED(f"It said {secret} and stopped").startswith(f"It said [secret:{kind}:")


@pytest.mark.parametrize(
    "around",
    [
        "Hasło: {}",
        "Lösenord: {}",
        "şifre: {}",
        "密码：{}",
        "数据库密码是{}，不要外传",
        "パスワード: {}",
        "비밀번호: {}",
        "كلمة المرور: {}",
        "my password is: {}",
        "The password for the test server is {} until Friday.",
        "Пароль от сервера: {}",
        "La password del router è {}",
        'network={{ ssid="Home" psk="{}" }}',
        '$env:CI_PAT = "{}"',
        'api_key = (\n    "{}"\n)',
        "token: >-\n  {}\n",
        "ENV SECRET_KEY_BASE {}",
        "jdbc:oracle:thin:scott/{}@db:1521/XE",
        "db.example.org:5432:shop:app:{}",
        "https://b.s3.amazonaws.com/f?X-Amz-Signature={}",
        "| service | password |\n|---|---|\n| shop | `{}` |",
        "id,mail,password\n1,ann@example.org,{}\n",
        " id | token\n----+-------\n  1 | {}\n(1 row)",
    ],
)
def test_more_places_of_secrets_are_known(around: str) -> None:
    secret = hexadecimal(64) if "Signature" in around else DRAWN
    redacted = REDACTED(around.format(secret))

    assert secret not in redacted
    assert "[secret:" in redacted


def test_the_words_of_a_wallet_are_a_secret() -> None:
    words = "ripple canvas adjust lunar poem velvet orbit cabin stove fetch gather mimic"

    redacted = REDACTED(f"My seed phrase: {words}")

    assert redacted.startswith("My seed phrase: [secret:seed_phrase:")
    assert words not in redacted


@pytest.mark.parametrize(
    "text",
    [
        '<input type="password" name="password" autocomplete="current-password">',
        "$password = $_POST['password'];",
        "The password for this account is required",
        "密码是必填项",
        "密码是6-20位字符",
        "Password: one pass on `caller-managed` state",
        "build(\n    password,\n    hash_1=rounds_2,\n)",
        "I need a token, tea\nand page42, too",
        "token|count\nthe|12\ncat|9",
        "| password |\n| at least 12 letters |",
        "Seed phrase: write it down on paper.",
    ],
)
def test_more_that_only_looks_like_a_secret_stays(text: str) -> None:
    assert REDACTED(text) == text


@pytest.mark.parametrize(
    "text", ["| a | password |\n" * 20_000, "a|token\n" * 20_000, "password for a " * 20_000, "token (\n  " * 20_000]
)
def test_long_tables_and_sentences_are_read_in_good_time(text: str) -> None:
    begun = process_time()

    REDACTED(text)

    assert process_time() - begun < 5


@pytest.mark.parametrize(
    "secret", ["ab_9x4Kq", "npg_4hTq8ZrWm2Xc", "q7_Zk2VxT9m", "test_4hTq8ZrWm2Xc", "my-4hTq8ZrWm2Xc", "Wp_2_Zk8Lm4Qs"]
)
@pytest.mark.parametrize("around", ["DB_PASSWORD={}", "API_KEY={}", "client_secret: {}", '"access_token": "{}"'])
def test_a_value_with_underscores_is_no_name_of_a_variable(around: str, secret: str) -> None:
    assert secret not in REDACTED(around.format(secret))


@pytest.mark.parametrize(
    "around",
    [
        '{{"value": "{}", "name": "MAIL_PASSWORD"}}',
        '{{"Name": "MAIL_PASSWORD", "Value": "{}"}}',
        '{{"ParameterKey": "MailPassword", "ParameterValue": "{}"}}',
        '{{"key": "MAIL_PASSWORD", "protected": true, "environment_scope": "*", "value": "{}"}}',
        '{{"MAIL_PASSWORD": {{"isSecret": true, "value": "{}"}}}}',
        "- value: {}\n  name: MAIL_PASSWORD",
        "    Environment:\n      MAIL_PASSWORD:        {}",
        'variable "mail_password" {{\n  type    = string\n  default = "{}"\n}}',
        "<property>\n  <name>mail.password</name>\n  <value>{}</value>\n</property>",
        "Password for mail:\n{}\nLogged in",
        "USER shop\r\nPASS {}\r\n",
        "cache:6379> AUTH {}",
        "MAIL_PW={}",
        "mailPw: '{}'",
        '{{"password": "a\\"b{}"}}',
        "&lt;a secret=&quot;{}&quot;&gt;",
        "echo 'shop:{}' | sudo chpasswd",
        "htpasswd -bB /etc/users shop {}",
        "echo {} | docker login -u shop --password-stdin",
        "openssl rsa -in key.pem -passin pass:{}",
        "requirepass {}",
    ],
)
@pytest.mark.parametrize("secret", ["Wm4-tq9Zr2x", "Lp_7Qs2xV9k"])
def test_a_secret_is_known_in_pairs_of_a_name_and_a_value_in_commands_and_in_dialogues(around: str, secret: str) -> None:
    assert secret not in REDACTED(around.format(secret))


@pytest.mark.parametrize(
    "text",
    [
        "Monthly pass: $100 (unlimited)",
        "Season pass: cost-effective, with a note on cost-effectiveness",
        "Day pass: €12.50/week",
        "Password: 8-20 characters",
        "Boarding pass: pre-printed",
        'public_key = "9Cnzj4p4WGeKLs1Pt8QuKUpRKfFLfRYC9AIKjbJTWit"',
        '"credentialId": "B9mTcFSck2LzJO2S3ols63",',
        '<meta name="csrf-token" content="q7Zk2VxT9mLw4RsB8nYc3HdJ6fGp">',
        "password = user_password_2",
        "token=K8S_TOKEN_NAME",
        "PASS src/app2.test.js",
        "- name: DB_PASSWORD\n  valueFrom: secret\n- name: REGION\n  value: eu-central-1b",
        "Look for `-----BEGIN RSA PRIVATE KEY-----` at the top, then for the 12 lines of base64 that follow it",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    ],
)
def test_ordinary_english_public_values_and_mentions_stay(text: str) -> None:
    assert REDACTED(text) == text


def test_a_secret_is_replaced_elsewhere_only_as_a_whole_token() -> None:
    redacted = REDACTED("password: sunny-day2\nIt was a sunny-day2, with sunny-day20 and unsunny-day2 behind")

    assert redacted.count("[secret:password:") == 2
    assert redacted.endswith("with sunny-day20 and unsunny-day2 behind")


@pytest.mark.parametrize("between", ["\n", "\\n", "\r\n", " ", "\n    ", "\n> ", "%0A", "<br/>", "\n12: ", "\\n' +\n  '"])
@pytest.mark.parametrize("end", ["-----END RSA PRIVATE KEY-----", ""])
def test_a_private_key_goes_with_whatever_stands_between_its_lines(between: str, end: str) -> None:
    lines = ["-----BEGIN RSA PRIVATE KEY-----", *[DRAWN * 2] * 4, *([end] if end else [])]

    assert DRAWN not in REDACTED(between.join(lines))


@pytest.mark.parametrize(
    "secret",
    [
        "ABSK" + DRAWN * 4,
        "IQoJb3Jp" + DRAWN * 6,
        "vcp_" + DRAWN * 2,
        "npg_" + DRAWN[:12],
        "napi_" + DRAWN.lower() * 2,
        "mdb_sa_sk_" + DRAWN,
        "tgp_v1_" + DRAWN,
        "pa-" + DRAWN,
        "fc-" + hexadecimal(32),
        "jina_" + hexadecimal(32) + DRAWN,
        "e2b_" + hexadecimal(40),
        "CCIPAT_" + DRAWN[:22] + "_" + hexadecimal(40),
        "squ_" + hexadecimal(40),
        "glrtr-" + DRAWN[:20],
        "GR1348941" + DRAWN[:20],
        "aivenv1_" + DRAWN,
        "sk_org_" + DRAWN[:24],
    ],
)
def test_newer_tokens_are_known_in_a_neutral_sentence(secret: str) -> None:
    assert secret not in REDACTED(f"It said {secret} and stopped")


@pytest.mark.parametrize(
    "text",
    [
        "name: " * 20_000,
        '{"key": "password", ' * 10_000,
        "value: a name: password " * 5_000,
        "-----BEGIN PRIVATE KEY-----\n" * 5_000,
        "-----BEGIN PRIVATE KEY-----" + "\\n" * 50_000,
        "password=" + "a_" * 50_000,
        "password=" + "a-" * 50_000,
        "password:\n" * 20_000,
        "USER a\nPASS " * 10_000,
        "echo " * 30_000 + "passwd",
    ],
)
def test_long_pairs_and_keys_are_read_in_good_time(text: str) -> None:
    begun = process_time()

    REDACTED(text)

    assert process_time() - begun < 5
