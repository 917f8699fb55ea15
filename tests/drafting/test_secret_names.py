"""Files that hold secrets are known by their names, and names that only look like it are not taken for them."""

import pytest

from drafting.secret_names import secret_pattern

SECRET = """
.env .env.local .env.production .env-prod .env_staging prod.env docker/app.env .envrc .ENV .flaskenv .env.ci .env.bak
server.pem SERVER.PEM tls.key www.example.com.key private.pem master.key host.ppk AuthKey.p8 cert.p12 cert.pfx app.jks
release.keystore office.ovpn id_rsa id_rsa.bak id_rsa_work id_ed25519 id_ecdsa id_dsa .ssh/deploy .gnupg/secring
vault.kdbx vault.kdb login.keychain-db mail.gpg private-key.asc
.netrc _netrc .pgpass .npmrc .pypirc .git-credentials .htpasswd .my.cnf .dockercfg .docker/config.json .kube/config
kubeconfig prod.kubeconfig .aws/credentials .cargo/credentials.toml credentials credentials.json credentials.yml.enc
credentials-prod.yaml google_credentials.json application_default_credentials.json .config/gh/hosts.yml
secrets.yaml secrets.json secrets.toml secrets.env secrets.py secrets.h Secrets.swift arduino_secrets.h .secrets
secret.yaml app-secrets.yaml passwords.txt passwords.csv token.json .vault-token .vault_pass.txt
terraform.tfvars prod.auto.tfvars prod.tfvars.json terraform.tfstate terraform.tfstate.backup
service-account.json my_service_account_key.json serviceAccountKey.json client_secret_12.apps.json
app-firebase-adminsdk-x.json gha-creds-0a.json
C:\\Users\\me\\.env
"""

HARMLESS = """
.env.example .env.sample .env.template .env.dist .env.local.example .env.example.local example.env sample.env
.env-example .env_sample .env.schema .envrc.example
env.py environment.py dotenv.rs env.d.ts .environment config.env.ts
id_rsa.pub id_ed25519.pub id_rsa_parser.py host.pub public.pem public_key.pem jwt-public.key .ssh/config
.ssh/known_hosts server.crt ca.cer server.pem.example
keys.py monkey.py key.go keyboard.key.ts hotkeys.json package.json tsconfig.json config.json
credentials.py credentials.go Credentials.java credentials_test.go credentials-provider.ts credentialsService.js
secrets.go secrets.rs Secrets.java secrets.tf secrets.md secrets.example.yaml secrets.yaml.example secretary.py
secret_names.py test_secrets.py manage_secrets.py secret_manager.ts credentials.example.json credentials.json.sample
client_secret.example.json service-account-sample.json service_account.py terraform.tfvars.example example.tfvars
main.tf variables.tf tokenizer.json tokens.json passwords.py password_reset.html config kube/config docker/config.json
settings.xml gradle.properties auth.json locales/en/auth.json
.env/lib/python3.11/site.py site.key/index.html secrets/views.py .git/config
"""


@pytest.mark.parametrize("name", SECRET.split())
def test_a_file_that_holds_secrets_is_known(name: str) -> None:
    assert secret_pattern(name)
    assert secret_pattern(f"/home/me/site/{name}")


@pytest.mark.parametrize("name", HARMLESS.split())
def test_a_name_that_only_looks_like_it_is_left_alone(name: str) -> None:
    assert secret_pattern(name) is None
    assert secret_pattern(f"/home/me/site/{name}") is None


def test_the_pattern_is_named() -> None:
    assert secret_pattern("/srv/.env.production") == ".env.*"
    assert secret_pattern("/home/me/.kube/config") == ".kube/config"
