"""The secrets that redaction knows by their shape, or by the name of a service beside them.

The first entry that matches names a secret, so the narrower comes before the wider. Each has an example and a near miss
in tests/data/secret_examples.toml. Python, not TOML, because every debate loads it and TOML takes ten times as long.
"""

from __future__ import annotations

from rebut.core.frozen import frozen


@frozen
class PatternTable:
    """A kind of secret, its `pattern`, and what must be there for the pattern to be worth trying."""

    pattern: str
    """A group called `value` narrows what is removed."""
    kind: str
    prefixes: tuple[str, ...] = ()
    """Texts that open the secret."""
    contains: str = ""
    """A text that is inside it."""
    before: tuple[str, int, int] = ("", 0, 0)
    """What is directly before `contains`, of a fixed length, and the fewest and most characters of the secret there."""
    keywords: tuple[str, ...] = ()
    """Names that stand before it on the same line."""
    check: str = ""
    """A condition on the whole secret: a name in `secret_patterns.CHECKS`."""


TABLES: tuple[PatternTable, ...] = (
    # Models and their hosts
    PatternTable("[A-Za-z0-9_-]{16,}", "anthropic-admin-key", prefixes=("sk-ant-admin01-",)),
    PatternTable("[A-Za-z0-9_-]{16,}", "anthropic-oauth-token", prefixes=("sk-ant-oat01-", "sk-ant-ort01-")),
    PatternTable("[A-Za-z0-9_-]{16,}", "anthropic-key", prefixes=("sk-ant-",)),
    PatternTable("[0-9a-f]{32,}", "openrouter-key", prefixes=("sk-or-v1-",)),
    PatternTable("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "langfuse-key", prefixes=("sk-lf-",)),
    PatternTable("[A-Za-z0-9_-]{20,}", "openai-admin-key", prefixes=("sk-admin-",), check="dense"),
    # Also service accounts, the first plain form, DeepSeek, and others who chose the same prefix.
    PatternTable("[A-Za-z0-9_-]{20,}", "openai-key", prefixes=("sk-",), check="dense"),
    PatternTable("[A-Za-z0-9]{40}(?![A-Za-z0-9])", "openai-session", prefixes=("sess-",)),
    PatternTable("[A-Za-z0-9_-]{32,}", "google-key", prefixes=("AIza",)),
    PatternTable("[A-Za-z0-9]{24,}", "huggingface-token", prefixes=("hf_", "api_org_")),
    PatternTable("[A-Za-z0-9_-]{30,}", "replicate-token", prefixes=("r8_",)),
    PatternTable("[A-Za-z0-9]{24,}", "groq-key", prefixes=("gsk_",)),
    PatternTable("[A-Za-z0-9]{32,}", "perplexity-key", prefixes=("pplx-",)),
    PatternTable("[A-Za-z0-9]{24,}", "xai-key", prefixes=("xai-",)),
    PatternTable("[A-Za-z0-9]{22,}", "fireworks-key", prefixes=("fw_",), check="mixed"),
    PatternTable("[a-z0-9]{40,}", "cerebras-key", prefixes=("csk-",), check="dense"),
    PatternTable("[A-Za-z0-9_-]{40,}", "nvidia-key", prefixes=("nvapi-",), check="dense"),
    PatternTable("[A-Za-z0-9_-]{32,}", "together-key", prefixes=("tgp_v1_",), check="dense"),
    PatternTable("[0-9a-f]{32}_[0-9a-f]{10}", "langsmith-key", prefixes=("lsv2_pt_", "lsv2_sk_")),
    PatternTable("[A-Za-z0-9_]{40,}", "pinecone-key", prefixes=("pcsk_",)),
    PatternTable("[0-9a-f]{48}(?![A-Za-z0-9])", "elevenlabs-key", prefixes=("sk_",)),
    PatternTable("[A-Za-z0-9_-]{28,}", "tavily-key", prefixes=("tvly-",), check="dense"),
    PatternTable("[A-Za-z0-9_-]{43,}", "voyage-key", prefixes=("pa-",), check="mixed"),
    PatternTable("[A-Za-z0-9_-]{40,}", "jina-key", prefixes=("jina_",)),
    PatternTable("[A-Za-z0-9_]{40,}", "wandb-key", prefixes=("wandb_v1_",)),
    PatternTable("[0-9a-f]{40}", "wandb-old-key", keywords=("wandb", "weights")),
    PatternTable("[A-Za-z0-9]{32}", "mistral-key", keywords=("mistral",)),
    PatternTable("[A-Za-z0-9]{40}", "cohere-key", keywords=("cohere", "co_api")),
    PatternTable("[0-9a-f]{64}", "together-old-key", keywords=("together",)),
    PatternTable("[0-9a-f]{32}|[A-Za-z0-9]{84}", "azure-openai-key", keywords=("azure", "openai", "cognitive")),
    # Clouds
    PatternTable("[A-Z0-9]{16,17}(?![A-Za-z0-9])", "aws-key", prefixes=("AKIA", "ASIA", "ABIA", "ACCA", "A3T")),
    PatternTable("[A-Za-z0-9+/]{80,}={0,3}", "aws-bedrock-key", prefixes=("ABSK",)),
    # The short-lived form.
    PatternTable("[A-Za-z0-9+/=]{40,}", "aws-bedrock-key", prefixes=("bedrock-api-key-",)),
    PatternTable("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "aws-mws-token", prefixes=("amzn.mws.",)),
    # A session token, as the security token service writes it.
    PatternTable("[A-Za-z0-9+/=]{60,}", "aws-login-token", prefixes=("IQoJb3JpZ2lu",)),
    PatternTable(
        "[A-Za-z0-9/+]{40}",
        "aws-secret-key",
        keywords=("aws_secret", "secretaccesskey", "secret_access_key", "aws_sec"),
    ),
    PatternTable("[A-Za-z0-9_-]{20,}", "google-secret", prefixes=("GOCSPX-",)),
    PatternTable("[A-Za-z0-9_-]{30,}", "google-oauth-token", prefixes=("ya29.",)),
    PatternTable("[A-Za-z0-9_-]{40,}", "google-refresh-token", prefixes=("1//0",), check="dense"),
    PatternTable("[0-9a-f]{40}", "google-service-key", keywords=("private_key_id",)),
    PatternTable(
        r"(?:(?<![A-Za-z0-9_~.-])|(?<=\\[nrtbf]))[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])",
        "azure-client-secret",
        contains="Q~",
        before=("[A-Za-z0-9_~.-]{3}[0-9]", 4, 4),
    ),
    PatternTable("(?P<value>[A-Za-z0-9+/]{40,}={0,2})", "azure-storage-key", prefixes=("AccountKey=",)),
    PatternTable("(?P<value>[A-Za-z0-9+/]{40,}={0,2})", "azure-shared-key", prefixes=("SharedAccessKey=",)),
    PatternTable("(?P<value>[A-Za-z0-9%+/_-]{43,}={0,2})", "azure-sas", prefixes=("sig=",), check="mixed"),
    PatternTable(
        r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{20,}",
        "azure-identifiable-key",
        contains="JQQJ99",
        before=("[A-Za-z0-9]{52}", 52, 52),
    ),
    PatternTable(
        r"(?:(?<![A-Za-z0-9+/])|(?<=\\[nrtbf]))[A-Za-z0-9+/_-]{44}AzFu[A-Za-z0-9+/_-]{4,6}={0,2}",
        "azure-marked-key",
        contains="AzFu",
        before=("[A-Za-z0-9+/_-]{44}", 44, 44),
    ),
    PatternTable(
        r"(?:(?<![A-Za-z0-9+/])|(?<=\\[nrtbf]))[A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{5,6}={1,2}",
        "azure-account-key",
        contains="+ASt",
        before=("[A-Za-z0-9+/]{76}", 76, 76),
    ),
    PatternTable("[A-Za-z0-9]{12,}", "alibaba-key", prefixes=("LTAI",), check="mixed"),
    PatternTable("[A-Za-z0-9]{30}", "alibaba-secret", keywords=("alibaba", "aliyun")),
    PatternTable("[A-Za-z0-9]{32}(?![A-Za-z0-9])", "tencent-key", prefixes=("AKID",), check="mixed"),
    PatternTable("[0-9a-f]{64}(?![0-9A-Za-z])", "digitalocean-token", prefixes=("dop_v1_", "doo_v1_", "dor_v1_")),
    PatternTable("[A-Za-z0-9/+]{43}", "digitalocean-spaces-key", keywords=("spaces", "digitalocean")),
    PatternTable("[A-Za-z0-9_-]{32,}", "heroku-key", prefixes=("HRKU-",)),
    PatternTable("[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", "heroku-old-key", keywords=("heroku",)),
    PatternTable("[A-Za-z0-9_-]{40,}", "fly-token", prefixes=("fo1_",), check="dense"),
    PatternTable("[A-Za-z0-9+/_-]{60,}={0,3}", "fly-token", prefixes=("fm1a_", "fm1r_", "fm2_")),
    PatternTable("[A-Za-z0-9]{24,}", "vercel-token", prefixes=("vcp_", "vci_", "vca_", "vcr_", "vck_")),
    PatternTable("[A-Za-z0-9_]{30,}", "vercel-blob-token", prefixes=("vercel_blob_rw_",)),
    PatternTable("[A-Za-z0-9]{24}", "vercel-old-token", keywords=("vercel",)),
    PatternTable("[A-Za-z0-9_-]{36,}", "netlify-token", prefixes=("nfp_", "nfc_", "nfo_", "nfu_")),
    PatternTable("[A-Za-z0-9_=-]{40,46}", "netlify-old-token", keywords=("netlify",)),
    PatternTable("[0-9a-f]{24}-[0-9a-f]{100,}", "cloudflare-origin-key", prefixes=("v1.0-",)),
    PatternTable("[A-Za-z0-9_-]{36,}", "cloudflare-token", prefixes=("cfat_", "cfut_", "cfk_"), check="dense"),
    PatternTable(
        "[A-Za-z0-9_-]{40}|[0-9a-f]{37}", "cloudflare-old-key", keywords=("cloudflare", "cf_api", "cf_global")
    ),
    PatternTable("[A-Za-z0-9_=-]{32}", "fastly-key", keywords=("fastly",)),
    PatternTable("[A-Za-z0-9]{28,}", "render-key", prefixes=("rnd_",), check="dense"),
    PatternTable("[A-Za-z0-9_-]{48,}", "scalingo-token", prefixes=("tk-us-",)),
    PatternTable("[A-Z0-9]{17}(?![A-Za-z0-9])", "scaleway-key", prefixes=("SCW",), check="digits"),
    PatternTable("[0-9a-f]{24,}(?![0-9A-Za-z])", "exoscale-key", prefixes=("EXO",)),
    PatternTable("[A-Za-z0-9_-]{44}", "ibm-key", keywords=("ibm", "bluemix")),
    PatternTable("[A-Za-z0-9_-]{35,}", "yandex-key", prefixes=("AQVN",), check="mixed"),
    PatternTable(r"[A-Za-z0-9_-]{20,}={0,2}\.[A-Za-z0-9_-]{80,}={0,2}", "yandex-token", prefixes=("t1.",)),
    PatternTable("YC[A-Za-z0-9_-]{38}", "yandex-static-key", keywords=("yandex",)),
    PatternTable("[A-Za-z0-9+/=]{40,}", "aiven-token", prefixes=("aivenv1",)),
    PatternTable("[A-Za-z0-9]{20,}", "upcloud-token", prefixes=("ucat_",)),
    # Code, packages and builds
    PatternTable("[A-Za-z0-9]{30,}", "github-token", prefixes=("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    # Fine-grained.
    PatternTable("[A-Za-z0-9_]{22,}", "github-token", prefixes=("github_pat_",)),
    # An app's installation token, as written before 2021.
    PatternTable("[0-9a-f]{40}(?![0-9A-Za-z])", "github-app-token", prefixes=("v1.",)),
    # Each kind of token has letters of its own; the newest end in parts set off by dots.
    PatternTable(
        r"[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,})*",
        "gitlab-token",
        prefixes=(
            *("glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-", "gloas-"),
            *("glagent-", "glffct-", "glwt-"),
        ),
    ),
    PatternTable("[A-Za-z0-9_-]{20,}", "gitlab-runner-token", prefixes=("GR1348941",)),
    PatternTable(r"(?P<value>[0-9a-z]{32,}\w*)", "gitlab-session", prefixes=("_gitlab_session=",)),
    PatternTable("[A-Za-z0-9_=.-]{24,}", "bitbucket-password", prefixes=("ATBB",), check="digits"),
    PatternTable("[A-Za-z0-9_=.-]{60,}", "atlassian-token", prefixes=("ATATT3", "ATCTT3", "ATSTT3")),
    PatternTable("[A-Za-z0-9]{24}", "atlassian-old-token", keywords=("atlassian", "jira", "confluence")),
    PatternTable("[A-Za-z0-9_=-]{64}|[A-Za-z0-9]{32}", "bitbucket-client", keywords=("bitbucket",)),
    PatternTable("[A-Za-z0-9]{30,}", "npm-token", prefixes=("npm_",)),
    PatternTable("[A-Za-z0-9_-]{32,}", "pypi-token", prefixes=("pypi-",), check="dense"),
    PatternTable("[0-9a-f]{48}", "rubygems-key", prefixes=("rubygems_",)),
    PatternTable("[A-Za-z0-9]{32}(?![A-Za-z0-9])", "crates-token", prefixes=("cio",), check="mixed"),
    PatternTable("[a-z2-7]{43}(?![A-Za-z0-9])", "nuget-key", prefixes=("oy2",), check="digits"),
    PatternTable("[A-Za-z0-9]{60}", "clojars-token", prefixes=("CLOJARS_", "clojars_")),
    PatternTable("[A-Za-z0-9_-]{20,}", "docker-token", prefixes=("dckr_pat_", "dckr_oat_")),
    PatternTable("[A-Za-z0-9]{60,}", "artifactory-key", prefixes=("AKCp",)),
    PatternTable(
        "[A-Za-z0-9]{73}|[A-Za-z0-9]{64}", "artifactory-old-key", keywords=("artifactory", "jfrog", "bintray", "xray")
    ),
    PatternTable("[A-Za-z0-9]{59,}", "artifactory-token", prefixes=("cmVmd",), check="mixed"),
    PatternTable("[A-Z0-9]{25,32}(?![A-Za-z0-9])", "octopus-key", prefixes=("API-",), check="digits"),
    PatternTable("[0-9a-f]{40}(?![0-9A-Za-z])", "buildkite-token", prefixes=("bkua_",)),
    PatternTable("[A-Za-z0-9_-]{40,}", "buildkite-agent-token", prefixes=("bkct_", "bkat_", "bkpt_")),
    PatternTable("[A-Za-z0-9]{20,}_[0-9a-f]{40}", "circleci-token", prefixes=("CCIPAT_", "CCIPRJ_")),
    PatternTable("[0-9a-f]{40}", "circleci-old-token", keywords=("circle",)),
    PatternTable("[A-Za-z0-9_-]{22}", "travis-token", keywords=("travis",)),
    PatternTable("[A-Za-z0-9]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "codecov-token", keywords=("codecov",)),
    PatternTable("[A-Za-z0-9]{32}", "droneci-token", keywords=("drone",)),
    PatternTable("[0-9a-f]{40}(?![0-9A-Za-z])", "sonar-token", prefixes=("squ_", "sqp_", "sqa_")),
    PatternTable("[A-Za-z0-9_=-]{40}", "sonar-old-token", keywords=("sonar",)),
    PatternTable("(?:(?:[0-9a-f]{16}|local)_)?[0-9a-f]{40}(?![0-9A-Za-z])", "sourcegraph-token", prefixes=("sgp_",)),
    PatternTable("[0-9a-f]{40}", "sourcegraph-old-token", keywords=("sourcegraph",)),
    PatternTable("[0-9a-f]{64}", "sourcegraph-token", prefixes=("slk_",)),
    PatternTable(r"[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_.-]{40,}", "snyk-token", prefixes=("snyk_uat.",)),
    PatternTable("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "snyk-old-token", keywords=("snyk",)),
    PatternTable(
        "[a-z2-7]{52}|[A-Za-z0-9]{84}",
        "azure-devops-token",
        keywords=("azure_devops", "azuredevops", "ado_", "vsts", "visualstudio"),
    ),
    PatternTable("[0-9a-f]{24}-[0-9a-f]{34}", "postman-key", prefixes=("PMAK-",)),
    PatternTable("[A-Za-z0-9]{26}", "postman-collection-key", prefixes=("PMAT-",)),
    PatternTable("[A-Za-z0-9]{36}(?![A-Za-z0-9])", "prefect-key", prefixes=("pnu_", "pnb_")),
    PatternTable("[a-z0-9]{60,}", "readme-key", prefixes=("rdme_",)),
    PatternTable("[0-9a-f]{40}(?![0-9A-Za-z])", "pulumi-token", prefixes=("pul-",)),
    PatternTable(
        r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",
        "terraform-token",
        contains=".atlasv1.",
        before=("[A-Za-z0-9]{14}", 14, 14),
    ),
    PatternTable("[A-Za-z0-9_-]{43,}", "openshift-token", prefixes=("sha256~",)),
    PatternTable("[a-z]{2,12}-[A-Za-z0-9]{6,}-[A-Za-z0-9]{16,}", "tailscale-key", prefixes=("tskey-",)),
    PatternTable("2[A-Za-z0-9]{26,28}(?![A-Za-z0-9])", "ngrok-key", prefixes=("ak_",), check="mixed"),
    PatternTable("2[A-Za-z0-9]{26}_[A-Za-z0-9]{21}", "ngrok-token", keywords=("ngrok",)),
    PatternTable(
        r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-])", "launchdarkly-key", prefixes=("api-", "sdk-", "mob-")
    ),
    PatternTable("[A-Za-z0-9_=-]{40}", "launchdarkly-token", keywords=("launchdarkly",)),
    PatternTable("[A-Za-z0-9_-]{22}/[A-Za-z0-9_-]{22}", "configcat-key", prefixes=("configcat-sdk-1/",)),
    PatternTable(r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}", "harness-key", prefixes=("pat.", "sat.")),
    PatternTable("[A-Za-z0-9]{36}(?![A-Za-z0-9])", "deno-token", prefixes=("ddp_", "ddw_")),
    # Talk and mail
    PatternTable(
        "[A-Za-z0-9%+/-]{10,}",
        "slack-token",
        prefixes=("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxe-", "xoxo-", "xoxs-", "xoxc-", "xoxd-"),
    ),
    # Tokens that rotate.
    PatternTable("[A-Za-z0-9-]{20,}", "slack-token", prefixes=("xoxe.xoxb-", "xoxe.xoxp-")),
    PatternTable("[A-Za-z0-9-]{20,}", "slack-token", prefixes=("xapp-",), check="dense"),
    PatternTable(
        r"(?P<value>\w{1,32}/\w{1,32}/[\w/]{16,})",
        "slack-webhook",
        prefixes=("hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"),
    ),
    PatternTable(
        r"[A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
        "discord-token",
        prefixes=("M", "N", "O"),
        check="mixed",
    ),
    PatternTable(
        "[0-9]{15,22}/(?P<value>[A-Za-z0-9_-]{50,})",
        "discord-webhook",
        prefixes=("discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
    ),
    PatternTable("[A-Za-z0-9_=-]{32}|[0-9a-f]{64}|[0-9]{17,19}", "discord-secret", keywords=("discord",)),
    PatternTable(
        r"(?:(?<![\w-])|(?<=\\[nrtbf]))[0-9]{8,10}:A[A-Za-z0-9_-]{34}(?![\w-])",
        "telegram-token",
        contains=":A",
        before=("[0-9]{8}", 8, 10),
    ),
    # As it stands in an address.
    PatternTable("(?P<value>[0-9]{5,16}:[A-Za-z0-9_-]{30,})", "telegram-token", prefixes=("api.telegram.org/bot",)),
    PatternTable("[0-9a-fA-F]{32}(?![A-Za-z0-9])", "twilio-key", prefixes=("SK",)),
    # The name of an account; its password stands beside it.
    PatternTable("[0-9a-f]{32}(?![A-Za-z0-9])", "twilio-account", prefixes=("AC",)),
    PatternTable("[0-9a-f]{32}|[A-Za-z0-9]{32}", "twilio-secret", keywords=("twilio",)),
    PatternTable(r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", "sendgrid-key", prefixes=("SG.",)),
    PatternTable("[0-9a-f]{64}-[A-Za-z0-9]{16}", "sendinblue-key", prefixes=("xkeysib-", "xsmtpsib-")),
    PatternTable("[0-9a-f]{32}(?![A-Za-z0-9])", "mailgun-key", prefixes=("key-", "pubkey-")),
    PatternTable("[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}", "mailgun-signing-key", keywords=("mailgun",)),
    PatternTable(
        r"(?:(?<![\w-])|(?<=\\[nrtbf]))[0-9a-f]{32}-us[0-9]{1,2}(?![\w-])",
        "mailchimp-key",
        contains="-us",
        before=("[0-9a-f]{32}", 32, 32),
    ),
    PatternTable("[A-Za-z0-9_-]{22,}", "mandrill-key", prefixes=("md-",), check="mixed"),
    PatternTable("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "postmark-token", keywords=("postmark",)),
    PatternTable("[A-Za-z0-9]{8}_[A-Za-z0-9]{24}(?![A-Za-z0-9])", "resend-key", prefixes=("re_",), check="digits"),
    PatternTable("[0-9a-f]{64}", "mailersend-key", prefixes=("mlsn.",)),
    PatternTable(
        "[A-Za-z0-9]{25}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        "messagebird-key",
        keywords=("messagebird", "message_bird", "message-bird"),
    ),
    PatternTable("[A-Za-z0-9]{16}", "vonage-secret", keywords=("vonage", "nexmo")),
    PatternTable("[0-9a-f]{40}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "sendbird-token", keywords=("sendbird",)),
    PatternTable("[A-Za-z0-9]{26}", "mattermost-token", keywords=("mattermost",)),
    PatternTable("[A-Za-z0-9+/]{54,}={0,2}", "intercom-token", prefixes=("dG9rO",)),
    PatternTable("[A-Za-z0-9_=-]{60}", "intercom-old-key", keywords=("intercom",)),
    PatternTable(
        r"[^\s/]{20,90}/IncomingWebhook/(?P<value>[0-9a-z]{32}/[0-9a-z-]{36}[A-Za-z0-9]*(?:/[A-Za-z0-9_-]+)?)",
        "teams-webhook",
        prefixes=("webhook.office.com/webhookb2/",),
    ),
    PatternTable(
        "[0-9]{4,12}/(?:silent/)?(?P<value>[A-Za-z0-9]{5,})",
        "zapier-webhook",
        prefixes=("hooks.zapier.com/hooks/catch/",),
    ),
    PatternTable(
        r"[^\s/]{1,64}/(?:json/)?with/key/(?P<value>[A-Za-z0-9_-]{20,})",
        "ifttt-webhook",
        prefixes=("maker.ifttt.com/trigger/",),
    ),
    PatternTable(
        "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
        "hubspot-token",
        prefixes=("pat-na1-", "pat-na2-", "pat-eu1-", "pat-ap1-"),
    ),
    PatternTable(
        "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", "hubspot-key", keywords=("hubspot", "hapikey")
    ),
    PatternTable("[A-Za-z0-9]{40}", "zendesk-key", keywords=("zendesk",)),
    PatternTable("[A-Za-z0-9_-]{40}", "gitter-token", keywords=("gitter",)),
    # Money and shops
    PatternTable(
        "[A-Za-z0-9]{16,}",
        "stripe-key",
        prefixes=("sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"),
    ),
    PatternTable("[A-Za-z0-9+/=]{24,}", "stripe-secret", prefixes=("whsec_",)),
    PatternTable("[A-Za-z0-9_-]{22,}", "square-token", prefixes=("sq0atp-", "sq0csp-", "sq0idp-")),
    PatternTable("[A-Za-z0-9_-]{56,}", "square-token", prefixes=("EAAA",), check="mixed"),
    # Braintree, too.
    PatternTable(
        r"[a-z0-9]{16}\$[0-9a-f]{32}", "paypal-token", prefixes=("access_token$production$", "access_token$sandbox$")
    ),
    PatternTable("[A-Za-z0-9_-]{80}|[0-9a-f]{32}", "paypal-secret", keywords=("paypal", "braintree")),
    PatternTable(
        "[0-9a-fA-F]{32}(?![A-Za-z0-9])",
        "shopify-token",
        prefixes=("shpat_", "shpca_", "shppa_", "shpss_", "shptka_", "shpua_"),
    ),
    PatternTable("[a-z]hmf[A-Za-z0-9+/=_-]{40,}", "adyen-key", prefixes=("AQE",)),
    PatternTable(
        "[0-9a-z]{12,}(?:-X)?",
        "flutterwave-key",
        prefixes=("FLWSECK_TEST-", "FLWSECK-", "FLWSECK_LIVE-", "FLWPUBK_TEST-", "FLWPUBK-"),
        check="digits",
    ),
    PatternTable("[A-Za-z0-9]{14,}", "razorpay-key", prefixes=("rzp_live_", "rzp_test_")),
    PatternTable("[A-Za-z0-9]{54}(?![A-Za-z0-9])", "easypost-key", prefixes=("EZAK", "EZTK")),
    PatternTable("[A-Za-z0-9_=-]{36,}", "duffel-token", prefixes=("duffel_test_", "duffel_live_")),
    PatternTable("[0-9a-f]{40}", "shippo-token", prefixes=("shippo_live_", "shippo_test_")),
    PatternTable("(?:pub_)?[0-9a-f]{31,35}(?![A-Za-z0-9])", "lob-key", prefixes=("live_", "test_")),
    PatternTable(
        "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        "plaid-token",
        prefixes=("access-sandbox-", "access-development-", "access-production-"),
    ),
    PatternTable("[0-9A-Za-z]{30}|[0-9A-Za-z]{24}", "plaid-secret", keywords=("plaid",)),
    PatternTable("[A-Za-z0-9_=-]{40,}", "gocardless-token", prefixes=("live_", "sandbox_"), check="mixed"),
    PatternTable(
        "[0-9a-f-]{36}/apiKeys/(?P<value>[0-9a-f-]{36}[A-Za-z0-9]*)", "coinbase-key", prefixes=("organizations/",)
    ),
    PatternTable("[A-Za-z0-9_-]{64}|[A-Za-z0-9]{16}", "coinbase-token", keywords=("coinbase",)),
    PatternTable("[A-Za-z0-9/=+_-]{80,90}", "kraken-key", keywords=("kraken",)),
    PatternTable("[0-9a-f]{24}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "kucoin-key", keywords=("kucoin",)),
    PatternTable("[A-Za-z0-9]{32}", "bittrex-key", keywords=("bittrex",)),
    PatternTable("[A-Za-z0-9]{64}", "binance-key", keywords=("binance",)),
    PatternTable("[A-Za-z0-9]{24}", "etsy-key", keywords=("etsy",)),
    PatternTable("[0-9a-f]{32}|[A-Za-z0-9]{20}", "finicity-key", keywords=("finicity",)),
    PatternTable("[A-Za-z0-9]{20}(?:[A-Za-z0-9]{20})?", "finnhub-key", keywords=("finnhub",)),
    PatternTable("[A-Za-z0-9]{64}", "freshbooks-token", keywords=("freshbooks",)),
    PatternTable("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "squarespace-key", keywords=("squarespace",)),
    # Data, watching and everyday tools
    PatternTable("[0-9a-f]{32}(?:-[0-9])?(?![A-Za-z0-9])", "databricks-token", prefixes=("dapi",)),
    PatternTable("[0-9a-f]{32}(?:-[0-9])?(?![A-Za-z0-9])", "databricks-token", prefixes=("dose",)),
    PatternTable("[0-9]{3,20}-ETMs[A-Za-z0-9+/=_-]{40,}", "snowflake-token", prefixes=("ver:1-hint:",)),
    PatternTable("[A-Za-z0-9_=.-]{32,}", "planetscale-token", prefixes=("pscale_tkn_", "pscale_pw_", "pscale_oauth_")),
    PatternTable("[a-z0-9]{40,}", "neon-key", prefixes=("napi_",)),
    PatternTable("[0-9a-f]{40}(?![A-Za-z0-9])", "supabase-token", prefixes=("sbp_",)),
    PatternTable("[A-Za-z0-9_-]{24,}", "supabase-secret", prefixes=("sb_secret_",)),
    PatternTable("[A-Za-z0-9]{38}(?![A-Za-z0-9])", "clickhouse-key", prefixes=("4b1d",)),
    PatternTable(r"[A-Za-z0-9]{14}\.[0-9a-f]{64}", "airtable-token", prefixes=("pat",)),
    PatternTable("key[A-Za-z0-9]{14}|[A-Za-z0-9]{17}", "airtable-old-key", keywords=("airtable",)),
    PatternTable("[0-9]{11}[A-Za-z0-9]{32,}", "notion-token", prefixes=("ntn_",)),
    # As written before 2024.
    PatternTable("[A-Za-z0-9]{43}(?![A-Za-z0-9])", "notion-token", prefixes=("secret_",)),
    PatternTable("[A-Za-z0-9]{32,}", "linear-key", prefixes=("lin_api_", "lin_oauth_", "lin_wh_")),
    PatternTable("[0-9a-f]{32}", "linear-secret", keywords=("linear",)),
    PatternTable("[A-Za-z0-9_-]{36,}", "figma-token", prefixes=("figd_", "figo_", "figor_", "figoh_")),
    PatternTable(r"(?:u\.)?[A-Za-z0-9_=-]{80,}", "dropbox-token", prefixes=("sl.",)),
    PatternTable(
        "[A-Za-z0-9]{11}AAAAAAAAAA[A-Za-z0-9_=-]{43}|[A-Za-z0-9]{15}", "dropbox-old-token", keywords=("dropbox",)
    ),
    PatternTable("[0-9]{16}(?:/[0-9]{16})?:[0-9a-f]{32}", "asana-token", prefixes=("0/", "1/", "2/")),
    PatternTable("[a-z0-9]{32}|[0-9]{16}", "asana-secret", keywords=("asana",)),
    PatternTable("[0-9]{5,12}_[A-Z0-9]{32}", "clickup-token", prefixes=("pk_",)),
    PatternTable("[0-9a-f]{32}|[0-9a-f]{64}|ATTA[0-9a-f]{72}", "trello-key", keywords=("trello",)),
    PatternTable("[0-9a-f]{64,}", "trello-token", prefixes=("ATTA",)),
    PatternTable("[A-Za-z0-9_.=-]{40,}", "typeform-token", prefixes=("tfp_",)),
    PatternTable("[A-Za-z0-9]{28}(?![A-Za-z0-9])", "adafruit-key", prefixes=("aio_",)),
    PatternTable("[A-Za-z0-9_-]{32}", "adafruit-old-key", keywords=("adafruit",)),
    PatternTable("[A-Za-z0-9_=-]{60,}", "frameio-token", prefixes=("fio-u-",)),
    PatternTable("[A-Za-z0-9_-]{43,}", "contentful-token", prefixes=("CFPAT-",)),
    PatternTable("[A-Za-z0-9_=-]{43}", "contentful-delivery-token", keywords=("contentful",)),
    PatternTable("[0-9A-Za-z]{32}", "algolia-key", keywords=("algolia",)),
    PatternTable(r"[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{20,}", "mapbox-token", prefixes=("sk.eyJ", "pk.eyJ", "tk.eyJ")),
    PatternTable(r"[sptk]{2}\.[A-Za-z0-9]{60}\.[A-Za-z0-9]{22}", "mapbox-old-token", keywords=("mapbox",)),
    PatternTable("[A-Za-z0-9+/]{32,}={0,3}", "grafana-token", prefixes=("glc_",)),
    PatternTable("[A-Za-z0-9]{32}_[0-9a-fA-F]{8}", "grafana-token", prefixes=("glsa_",)),
    PatternTable("[A-Za-z0-9+/_-]{60,}={0,3}", "grafana-key", prefixes=("eyJrIjoi",)),
    PatternTable("[0-9a-z]{32}|[0-9A-Za-z]{40}", "datadog-key", keywords=("datadog", "dd_api", "dd_app", "dd_client")),
    PatternTable("[0-9a-f]{32}(?![A-Za-z0-9])", "datadog-client-token", prefixes=("pub",), check="digits"),
    PatternTable(
        "[A-Za-z0-9_-]{19,}",
        "newrelic-key",
        prefixes=("NRAK-", "NRJS-", "NRII-", "NRRA-", "NRIQ-", "NRSP-", "NRAA-"),
        check="digits",
    ),
    PatternTable(
        r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))[0-9a-fA-F]{32,36}(?:FF)?NRAL(?![A-Za-z0-9])",
        "newrelic-license-key",
        contains="NRAL",
        before=("[0-9a-fA-F]{32}", 32, 38),
    ),
    PatternTable("[A-Za-z0-9]{64}|[0-9a-f]{40}", "newrelic-old-key", keywords=("newrelic", "new_relic", "new-relic")),
    PatternTable("[A-Za-z0-9+/=_-]{40,}", "sentry-token", prefixes=("sntrys_", "sntryu_", "sntrya_")),
    PatternTable("[0-9a-f]{64}", "sentry-old-token", keywords=("sentry",)),
    PatternTable("[A-Za-z0-9]{50,}", "honeycomb-key", prefixes=("hcaik_", "hcamk_", "hcxik_", "hcxmk_", "hcbik_")),
    PatternTable(
        r"[A-Za-z0-9]{8,24}\.[A-Za-z0-9]{64}",
        "dynatrace-token",
        prefixes=("dt0c01.", "dt0s01.", "dt0s02.", "dt0s03.", "dt0s06.", "dt0s16."),
    ),
    PatternTable("[A-Za-z0-9_-]{32,}", "posthog-key", prefixes=("phx_", "phs_", "phr_")),
    PatternTable("su[A-Za-z0-9]{12}|[A-Za-z0-9]{64}", "sumologic-key", keywords=("sumo",)),
    PatternTable(
        "[A-Za-z0-9_+-]{20}|[0-9a-f]{32}", "pagerduty-key", keywords=("pagerduty", "pager_duty", "pager-duty", "pd_")
    ),
    PatternTable(
        "(?P<value>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}[A-Za-z0-9]*)", "opsgenie-key", prefixes=("GenieKey ",)
    ),
    PatternTable("00[A-Za-z0-9_=-]{40}", "okta-token", keywords=("okta",)),
    # As it stands in a header.
    PatternTable("(?P<value>00[A-Za-z0-9_=-]{40,})", "okta-token", prefixes=("SSWS ",)),
    PatternTable("[A-Za-z0-9_-]{64}|[A-Za-z0-9_-]{32}", "auth0-secret", keywords=("auth0",)),
    PatternTable("[A-Za-z0-9_=-]{36,}", "stytch-secret", prefixes=("secret-live-", "secret-test-"), check="dense"),
    PatternTable(
        "[A-Za-z0-9]{60,}", "facebook-token", prefixes=("EAAM", "EAAC", "EAAB", "EAAG", "EAAD"), check="mixed"
    ),
    PatternTable(
        r"(?:(?<![\w-])|(?<=\\[nrtbf]))[0-9]{15,16}(?:\||%7C)[A-Za-z0-9_-]{27,40}(?![\w-])",
        "facebook-token",
        contains="|",
        before=("[0-9]{15}", 15, 16),
    ),
    PatternTable("[A-Za-z0-9_-]{60,}", "instagram-token", prefixes=("IGQV",)),
    PatternTable("[0-9a-f]{32}", "facebook-secret", keywords=("facebook", "fb_app", "fb_sec")),
    PatternTable("[A-Za-z0-9%]{60,}", "twitter-bearer", prefixes=("AAAAAAAAAAAAAAAAAAAAA",), check="mixed"),
    PatternTable(
        "[0-9]{15,20}-[A-Za-z0-9]{20,40}|[A-Za-z0-9]{25}|[A-Za-z0-9]{45}|[A-Za-z0-9]{50}",
        "twitter-key",
        keywords=("twitter",),
    ),
    PatternTable(
        r"[A-Za-z0-9]{14}|[A-Za-z0-9]{16}|WPL_AP1\.[A-Za-z0-9.]{16,64}",
        "linkedin-key",
        keywords=("linkedin", "linked_in", "linked-in"),
    ),
    PatternTable("[A-Za-z0-9]{30}", "twitch-token", keywords=("twitch",)),
    PatternTable("[0-9a-f]{32}|[0-9A-Za-z]{32}", "flickr-key", keywords=("flickr",)),
    PatternTable("[A-Za-z0-9_=-]{32}", "nytimes-key", keywords=("nytimes", "newyorktimes", "new-york-times")),
    PatternTable("[A-Za-z0-9_-]{50}", "rapidapi-key", keywords=("rapidapi",)),
    PatternTable("[0-9a-f]{40}", "meraki-key", keywords=("meraki",)),
    PatternTable("[A-Za-z0-9/+]{64}|[A-Za-z0-9]{16}", "confluent-key", keywords=("confluent",)),
    PatternTable("[A-Za-z0-9+/]{60}(?![A-Za-z0-9+/])", "confluent-secret", prefixes=("cflt",)),
    PatternTable("[0-9a-f]{32}", "adobe-key", keywords=("adobe",)),
    PatternTable("[A-Za-z0-9_-]{28,}", "adobe-secret", prefixes=("p8e-",), check="dense"),
    PatternTable("[A-Za-z0-9_=-]{44,}", "beamer-token", prefixes=("b_",), check="mixed"),
    PatternTable(
        r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?![A-Za-z0-9])",
        "maxmind-key",
        contains="_mmk",
        before=("[A-Za-z0-9]{6}_[A-Za-z0-9]{29}", 36, 36),
    ),
    PatternTable("[A-Za-z0-9]{16,}", "settlemint-token", prefixes=("sm_aat_", "sm_pat_", "sm_sat_")),
    PatternTable("[A-Z0-9a-z_=-]{26}-[A-Z0-9a-z_=-]{52}", "defined-networking-key", prefixes=("dnkey-",)),
    PatternTable("[0-9a-f]{64}(?![0-9A-Za-z])", "intra42-secret", prefixes=("s-s4t2ud-", "s-s4t2af-")),
    PatternTable("[A-Za-z0-9]{32}(?![A-Za-z0-9])", "infracost-key", prefixes=("ico-",)),
    PatternTable(
        r"[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,}",
        "authress-key",
        prefixes=("sc_", "ext_", "scauth_", "authress_"),
    ),
    PatternTable("[A-Za-z0-9]{30,}", "apify-token", prefixes=("apify_api_",)),
    PatternTable("[A-Za-z0-9_-]{24,}", "browserbase-key", prefixes=("bb_live_", "bb_test_")),
    PatternTable("[0-9a-f]{40}|jca_[A-Za-z0-9]{36}", "jumpcloud-key", keywords=("jumpcloud",)),
    PatternTable("[a-z0-9]{32}", "privateai-key", keywords=("private_ai", "privateai", "private-ai")),
    PatternTable("[0-9a-f]{8}:[0-9a-f]{8}", "sidekiq-secret", keywords=("contribsys",)),
    # Keys that keep other secrets
    PatternTable("[A-Za-z0-9_-]{24,}", "vault-token", prefixes=("hvs.", "hvb.", "hvr.")),
    PatternTable("[A-Za-z0-9]{24}(?![A-Za-z0-9_.(-])", "vault-old-token", prefixes=("s.",), check="mixed"),
    PatternTable(
        r"(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}",
        "doppler-token",
        prefixes=("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
    ),
    PatternTable("[A-Za-z0-9+/_-]{80,}={0,3}", "onepassword-token", prefixes=("ops_eyJ",)),
    PatternTable(
        "[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}", "onepassword-key", prefixes=("A3-",)
    ),
    PatternTable("[0-9A-Z]{50,}", "age-key", prefixes=("AGE-SECRET-KEY-1",)),
    PatternTable(r"[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}", "infisical-token", prefixes=("st.",)),
    PatternTable(
        r"[0-9]{1,3}\r?\n(?P<value>[A-Za-z0-9+/=]{16,}(?:\r?\n[A-Za-z0-9+/=]+(?=[\r\n]|$))*)",
        "putty-key",
        prefixes=("Private-Lines: ",),
    ),
    PatternTable(r'"[dk]"\s{0,4}:\s{0,4}"(?P<value>[A-Za-z0-9_-]{32,})"', "jwk-private", contains='"kty"'),
    # Its parts could be scanned again from every `eyJ` inside them, but for this stricter edge.
    PatternTable(
        r"eyJ(?:(?<![A-Za-z0-9_-]eyJ)|(?<=\\[nrtbf]eyJ))[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]{4,}){2,}",
        "jwt",
        contains="eyJ",
    ),
    # A JWT in base64 again.
    PatternTable("[A-Za-z0-9+/_-]{60,}={0,2}", "jwt-in-base64", prefixes=("ZXlK",)),
)
