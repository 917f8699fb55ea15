"""Which files hold secrets, by their names alone: what they say is no text to complete, nor to draft from.

Where a name leaves a doubt, a file of data counts as secret, and source code that deals with secrets does not.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

_DATA = (
    *("json", "yaml", "yml", "toml", "ini", "cfg", "conf", "xml", "csv", "txt", "env", "properties"),
    *("enc", "bak", "old"),
)
_CODE = ("go", "rs", "pyi", "java", "scala", "c", "cc", "cpp", "cs", "tsx", "vue", "html", "css", "tf", "md", "rst")
"""Secrets are kept in `secrets.py` (CircuitPython), `.h` (Arduino), `.js` or `.swift` as well, hardly in these."""

_MODELS = ("example", "sample", "template", "tmpl", "dist", "default", "defaults", "schema")
"""So end the names of files that show what another would hold."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """Patterns in lower case for the last parts of a path; `harmless` names match one of them and hold no secret."""

    secret: tuple[str, ...]
    harmless: tuple[str, ...] = ()

    def pattern_of(self, path: str) -> str | None:
        """The pattern that `path` (lower case) matches."""
        if any(_matches(path, pattern) for pattern in self.harmless):
            return None
        return next((pattern for pattern in self.secret if _matches(path, pattern)), None)


def _matches(path: str, pattern: str) -> bool:
    num_parts = pattern.count("/") + 1
    return fnmatchcase("/".join(path.split("/")[-num_parts:]), pattern)


def _each(form: str, ends: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(form.format(end) for end in ends)


_MODEL_NAMES = (
    *_each("*.{}", _MODELS),
    *_each("*.{}.*", ("example", "sample", "template")),
    *_each("{}.*", ("example", "sample", "template")),
)

_ENVIRONMENT = _Kind(
    secret=(".env", ".env.*", ".env-*", ".env_*", "*.env", ".envrc", ".flaskenv"),
    harmless=(*_MODEL_NAMES, *_each(".env-{}", _MODELS), *_each(".env_{}", _MODELS)),
)

_KEYS = _Kind(
    secret=(
        *("*.pem", "*.key", "*.ppk", "*.p8", "*.p12", "*.pfx", "*.pkcs12", "*.jks", "*.keystore", "*.ovpn"),
        *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".ssh/*", ".gnupg/*", "*.gpg", "private*.asc"),
        *("*.kdb", "*.kdbx", "*.agilekeychain", "*.keychain", "*.keychain-db"),
    ),
    harmless=(
        *("*.pub", "*.pub.*", "*public*.pem", "*pubkey*.pem", "*public*.key", "*.md"),
        *_each("*.{}", _MODELS),
        *(".ssh/config", ".ssh/known_hosts", ".ssh/authorized_keys"),
        *_each("id_*.{}", (*_CODE, "py", "rb", "js", "ts")),
    ),
)

_ACCOUNTS = _Kind(
    secret=(
        *(".netrc", "_netrc", ".authinfo", ".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf", ".htpasswd"),
        *(".npmrc", ".pypirc", ".git-credentials", ".dockercfg", ".docker/config.json", ".s3cfg", ".boto"),
        *(".kube/config", "kubeconfig", "*.kubeconfig", "gh/hosts.yml", "rclone.conf", ".composer/auth.json"),
        *(".m2/settings.xml", "settings-security.xml", ".gradle/gradle.properties", "*.publishsettings"),
        *(".vault-token", ".vault_pass*", ".vault-pass*", ".terraformrc", "terraform.rc", "token.json"),
        *("*.tfvars", "*.tfvars.json", "*.tfstate", "*.tfstate.*"),
        *("credentials", ".credentials", "*.credentials", "*.secret", "*.secrets", "secrets", ".secrets", "secrets.*"),
        *_each("credentials*.{}", _DATA),
        *_each("*[-_.]credentials.{}", _DATA),
        *_each("secret.{}", _DATA),
        *_each("*[-_]secrets.{}", (*_DATA, "h")),
        *_each("passwords.{}", _DATA),
        *("client_secret*.json", "gha-creds-*.json", "*firebase-adminsdk*.json"),
        *("*service-account*.json", "*service_account*.json", "*serviceaccount*.json"),
    ),
    harmless=(*_MODEL_NAMES, *_each("secrets.{}", _CODE), *_each("*[-_.]{}.json", _MODELS)),
)


def secret_pattern(path: str) -> str | None:
    r"""The pattern by which the name of a file tells that it holds secrets; None where it does not.

    >>> secret_pattern("/home/me/site/.env.production"), secret_pattern("C:\\Keys\\Server.KEY")
    ('.env.*', '*.key')
    >>> secret_pattern(".env.example"), secret_pattern("id_rsa.pub"), secret_pattern("src/credentials.py")
    (None, None, None)
    """
    name = path.replace("\\", "/").lower()
    patterns = (kind.pattern_of(name) for kind in (_ENVIRONMENT, _KEYS, _ACCOUNTS))
    return next((pattern for pattern in patterns if pattern), None)
