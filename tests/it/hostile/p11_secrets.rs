//! How many kinds of secrets are kept from a model, and how many lines are kept for nothing.
//! The list was made for this; `{n}` stands for n random letters and digits, so that no
//! scanner takes it for a leak.

use std::path::Path;

use restitch::internals::correct::Secrets;

use crate::random::Random;

/// Lines with secrets: the file they stand in, and the line.
const KEPT: &[(&str, &str)] = &[
    ("config.yaml", "password: hunter2"),
    ("config.yaml", "  db_password: 'tr0ub4dor'"),
    ("app.yml", "  passwd: Summer2024!"),
    ("app.properties", "spring.datasource.password=changeit1"),
    ("app.properties", "db.pass=s3cr3t"),
    ("settings.ini", "pwd = qwerty99"),
    ("settings.toml", "smtp_pass = \"mailer77\""),
    ("run.sh", "PGPASSWORD=hunter2 psql -h db"),
    ("run.sh", "export MYSQL_PWD=rootpw1"),
    ("run.sh", "mysqldump --password=backup1 db"),
    ("run.sh", "curl -H 'Authorization: Token {40}' https://x"),
    ("run.sh", "curl -H \"Authorization: Bearer {30}\" https://x"),
    ("run.sh", "curl -H \"X-Api-Key: {32}\" https://x"),
    ("run.sh", "export DB_PASS=abc123xyz"),
    ("wp.php", "define('DB_PASSWORD', 'hunter22');"),
    ("wp.php", "define( 'AUTH_KEY', '{40}' );"),
    ("db.go", "dsn := \"root:toor12@tcp(127.0.0.1:3306)/db\""),
    ("db.py", "url = 'postgres://app:hunter2@db/app'"),
    ("db.py", "redis.from_url('redis://:{16}@cache:6379')"),
    ("db.cs", "\"Server=db;User Id=sa;Password=Passw0rd1;Database=x;\""),
    ("db.cs", "\"Host=db;Username=app;Password=hunter2;Port=1\""),
    ("key.txt", "-----BEGIN OPENSSH PRIVATE KEY-----"),
    ("key.rs", "MIIEpAIBAAKCAQEA1{45}aB"),
    ("kube.yaml", "    client-key-data: LS0tLS1CRUdJTiB{60}"),
    ("kube.yaml", "    token: {64}"),
    ("secrets.rb", "secret_key_base: {64}"),
    ("secrets.rb", "  config.secret_key_base = '{64}'"),
    ("settings.py", "SECRET_KEY = 'django-insecure-{40}'"),
    ("app.js", "const jwtSecret = '{32}';"),
    ("app.js", "clientSecret: \"{32}\","),
    ("app.js", "apiKey: '{32}',"),
    ("app.ts", "const password = 'hunter2x';"),
    ("app.java", "String password = \"letmein9\";"),
    ("app.json", "\"password\": \"opensesame1\""),
    ("app.json", "\"private_key_id\": \"{40}\""),
    ("app.xml", "<password>hunter2</password>"),
    ("app.xml", "<property name=\"password\" value=\"hunter2\"/>"),
    ("main.tf", "access_key = \"AKIA{A16}\""),
    ("main.tf", "secret_key = \"{40}\""),
    ("main.tf", "master_password = \"hunter2hunter2\""),
    ("Dockerfile", "ENV API_TOKEN={32}"),
    ("nuget.config", "<add key=\"ClearTextPassword\" value=\"{20}\" />"),
    ("x.rs", "let t = \"ghp_{36}\";"),
    ("x.rs", "let t = \"github_pat_{22}_{59}\";"),
    ("x.rs", "let t = \"glpat-{20}\";"),
    ("x.rs", "let t = \"glrt-{20}\";"),
    ("x.rs", "let t = \"glptt-{40}\";"),
    ("x.rs", "let t = \"xoxb-{12}-{12}-{24}\";"),
    ("x.rs", "let t = \"xoxe-1-{40}\";"),
    ("x.rs", "let t = \"sk_live_{24}\";"),
    ("x.rs", "let t = \"rk_test_{24}\";"),
    ("x.rs", "let t = \"sk-ant-api03-{93}AA\";"),
    ("x.rs", "let t = \"sk-proj-{48}\";"),
    ("x.rs", "let t = \"AIza{35}\";"),
    ("x.rs", "let t = \"ya29.{60}\";"),
    ("x.rs", "let t = \"GOCSPX-{28}\";"),
    ("x.rs", "let t = \"SG.{22}.{43}\";"),
    ("x.rs", "let t = \"npm_{36}\";"),
    ("x.rs", "let t = \"pypi-AgEIcHlwaS5vcmc{60}\";"),
    ("x.rs", "let t = \"hf_{34}\";"),
    ("x.rs", "let t = \"dop_v1_{64}\";"),
    ("x.rs", "let t = \"shpat_{32}\";"),
    ("x.rs", "let t = \"shpss_{32}\";"),
    ("x.rs", "let t = \"hvs.{90}\";"),
    ("x.rs", "let t = \"hvb.{90}\";"),
    ("x.rs", "let t = \"atlasv1.{60}\";"),
    ("x.rs", "let t = \"dp.pt.{43}\";"),
    ("x.rs", "let t = \"dapi{32}\";"),
    ("x.rs", "let t = \"dt0c01.{24}.{64}\";"),
    ("x.rs", "let t = \"EZAK{54}\";"),
    ("x.rs", "let t = \"FLWSECK_TEST-{32}-X\";"),
    ("x.rs", "let t = \"glsa_{32}_{8}\";"),
    ("x.rs", "let t = \"glc_eyJ{60}\";"),
    ("x.rs", "let t = \"lin_api_{40}\";"),
    ("x.rs", "let t = \"NRAK-{27}\";"),
    ("x.rs", "let t = \"ntn_{46}\";"),
    ("x.rs", "let t = \"pul-{40}\";"),
    ("x.rs", "let t = \"pscale_tkn_{40}\";"),
    ("x.rs", "let t = \"phc_{43}\";"),
    ("x.rs", "let t = \"PMAK-{24}-{34}\";"),
    ("x.rs", "let t = \"rdme_{70}\";"),
    ("x.rs", "let t = \"rubygems_{48}\";"),
    ("x.rs", "let t = \"sntrys_{60}\";"),
    ("x.rs", "let t = \"sgp_{40}\";"),
    ("x.rs", "let t = \"sbp_{40}\";"),
    ("x.rs", "let t = \"tskey-auth-{20}-{32}\";"),
    ("x.rs", "let t = \"xkeysib-{64}-{16}\";"),
    ("x.rs", "let t = \"nvapi-{64}\";"),
    ("x.rs", "let t = \"pplx-{48}\";"),
    ("x.rs", "let t = \"r8_{37}\";"),
    ("x.rs", "let t = \"xai-{80}\";"),
    ("x.rs", "let t = \"gsk_{52}\";"),
    ("x.rs", "let t = \"dckr_pat_{27}\";"),
    ("x.rs", "let t = \"ATATT3{186}\";"),
    ("x.rs", "let t = \"AKCp{69}\";"),
    ("x.rs", "let t = \"LTAI{20}\";"),
    ("x.rs", "let t = \"AGE-SECRET-KEY-1{A58}\";"),
    ("x.rs", "let t = \"CFPAT-{43}\";"),
    ("x.rs", "let t = \"figd_{40}\";"),
    ("x.rs", "let t = \"sq0csp-{43}\";"),
    ("x.rs", "let t = \"apify_api_{36}\";"),
    ("x.rs", "let t = \"lsv2_pt_{32}_{10}\";"),
    ("x.rs", "let t = \"tvly-{32}\";"),
    ("x.rs", "let t = \"waka_{36}\";"),
    ("x.rs", "let t = \"sha256~{43}\";"),
    ("x.rs", "let t = \"A3-{A6}-{A11}-{A5}-{A5}-{A5}\";"),
    ("x.rs", "let t = \"ab18Q~{34}\";"),
    ("x.rs", "\"https://hooks.slack.com/services/T{8}/B{8}/{24}\""),
    ("x.rs", "\"https://discord.com/api/webhooks/123456789012345678/{68}\""),
    ("x.rs", "let t = \"eyJ{30}.eyJ{40}.{43}\";"),
    ("x.rs", "bot(\"110201543:AA{33}\")"),
    ("x.rs", "AccountKey={86}==;EndpointSuffix=core.windows.net"),
    // Found missing by another list.
    ("a.yml", "passphrase: correcthorse9"),
    ("r.sh", "curl -u admin:hunter2 https://x"),
    ("r.sh", "sshpass -p 'hunter2' ssh a@b"),
    ("r.sh", "mysql -uroot -phunter2 db"),
    ("r.sh", "psql \"host=db user=a password=hunter2\""),
    ("d.java", "\"jdbc:mysql://db/x?user=a&password=hunter2\""),
    ("c.h", "#define WIFI_PASSWORD \"hunter2x\""),
    ("c.h", "#define PASSWORD \"hunter2x\""),
    ("j.java", "ds.setPassword(\"hunter2x\");"),
    ("s.sql", "CREATE USER app IDENTIFIED BY 'hunter2x';"),
    ("s.sql", "ALTER ROLE app PASSWORD 'hunter2x';"),
    ("u.yml", "hash: $2b$12${53}"),
    ("u.txt", "root:$6${8}${86}:19000:0:99999:7:::"),
    ("u.txt", "admin:$apr1${8}${22}"),
    ("u.js", "'https://x/cb?client_secret={32}&a=1'"),
    ("u.js", "'https://a.blob.core.windows.net/c?sv=2022&sig={43}'"),
    ("o.py", "uri = \"otpauth://totp/x:a?secret={A32}&issuer=x\""),
    ("x.rs", "let t = \"SK{h32}\";"),
    ("x.rs", "let t = \"nfp_{36}\";"),
    ("x.rs", "let t = \"CCIPAT_{44}\";"),
    ("x.rs", "let t = \"ATBB{32}\";"),
    ("x.rs", "let t = \"glsoat-{20}\";"),
    ("x.rs", "let t = \"sl.{130}\";"),
    ("x.rs", "let t = \"{40}\";"),
    ("x.rs", "let t = \"ico-{32}\";"),
    ("wpa.conf", "    psk=\"hunter2xyz\""),
    ("ks.cfg", "rootpw --plaintext hunter2x"),
    ("u.ps1", "ConvertTo-SecureString \"hunter2x\" -AsPlainText -Force"),
    ("u.ps1", "Connect-X -Password 'hunter2x'"),
    ("u.bat", "net user app hunter2x /add"),
    ("ldap.conf", "bindpw hunter2x"),
    ("redis.conf", "requirepass hunter2x"),
    ("snmp.conf", "rocommunity s3cr3tcomm"),
    ("a.cs", "new NetworkCredential(\"u\", \"hunter2x\")"),
    ("a.py", "auth=(\"admin\", \"hunter2x\")"),
    ("a.clj", ":password \"hunter2x\""),
    ("a.erl", "{password, \"hunter2x\"}"),
    ("a.vb", "Dim pwd As String = \"hunter2x\""),
    ("a.toml", "password = \"\"\"hunter2x\"\"\""),
    ("a.py", "PASSWORD = b'hunter2x'"),
    ("a.rs", ".basic_auth(\"admin\", Some(\"Tr0ub4dor\"))"),
    ("a.go", "`password=Tr0ub4dor host=db`"),
    ("a.go", "req.SetBasicAuth(\"admin\", \"Tr0ub4dor\")"),
    ("a.js", "jwt.sign(payload, \"{28}\")"),
    ("a.sh", "echo Tr0ub4dor | sudo -S ls"),
    ("a.sh", "docker login -u a -p Tr0ub4dor"),
    ("a.sh", "openssl enc -k Tr0ub4dor"),
    ("a.sh", "redis-cli -a Tr0ub4dor"),
    ("a.sh", "ldapsearch -w Tr0ub4dor -D cn=a"),
    ("a.sh", "smbclient -U a%Tr0ub4dor //h/s"),
    ("a.sh", "sshpass -p hunter2 ssh -o StrictHostKeyChecking=no h"),
    ("a.py", "os.system('sshpass -p hunter2 ssh h')"),
    ("a.sh", "curl -u sk-{32}: https://api.example.org"),
    ("a.sh", "curl -u hunter2hunter2 https://x"),
    ("a.rs", "let password = String::from(\"hunter2\");"),
    ("a.rs", "let password = SecretString::new(\"hunter2\".into());"),
    ("a.json", "\"secret\": \"hunter2hunter\","),
    ("a.json", "\"secret\": \"correct-horse-battery\""),
    ("n", "machine h login me password hunter2"),
];

/// Texts of several lines, and what of them no prompt may hold.
const TEXTS: &[(&str, &str, &[&str])] = &[
    (
        "a.yml",
        "db:\n  password: >-\n    hunter2\n    and more\n  port: 1\n",
        &["hunter2", "and more"],
    ),
    ("a.yml", "password: |\n  hunter2\n\n  tr0ub4dor\nport: 1\n", &["hunter2", "tr0ub4dor"]),
    ("a.yml", "api_token:\n  \"hunter2hunter2\"\nport: 1\n", &["hunter2"]),
    ("n.txt", "machine h\n  login me\n  password hunter2\nport 1\n", &["hunter2"]),
    (
        "k.rs",
        "const K: &str = \"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1\nQ2hlY2sgbGFzdCBsaW5lGH==\n-----END RSA PRIVATE KEY-----\";\nfn main() {}\n",
        &["MIIEpAIBAAKCAQEA1", "Q2hlY2sgbGFzdCBsaW5lGH"],
    ),
    // A window that begins within the key.
    (
        "k.txt",
        "MIIEpAIBAAKCAQEA1c7u9Rr2S0mQ3e5tY7uI9oP1aS2dF4gH6jK8lZ0xC2vB4nM6\nQ2hlY2sgbGFzdCBsaW5lGH==\n-----END RSA PRIVATE KEY-----\nport 1\n",
        &[
            "MIIEpAIBAAKCAQEA1c7u9Rr2S0mQ3e5tY7uI9oP1aS2dF4gH6jK8lZ0xC2vB4nM6",
            "Q2hlY2sgbGFzdCBsaW5lGH",
        ],
    ),
];

/// Lines with secrets that are not found: nothing in them says so.
const MISSED: &[(&str, &str)] = &[
    ("a.md", "The admin password is hunter2x"),
    ("a.csv", "admin,password,hunter2x"),
    ("a.rs", "let client = Client::new(\"admin\", Some(\"Tr0ub4dor\"));"),
    ("a.java", "DriverManager.getConnection(url, \"sa\", \"Tr0ub4dor\");"),
    ("a.py", "db.connect(\"app\", \"Tr0ub4dor\")"),
    ("k.yaml", "    value: \"Tr0ub4dor\""),
    ("x.sql", "INSERT INTO users(name,password) VALUES('a','Tr0ub4dor');"),
];

/// Names of files that are never looked into.
const FILES: &[&str] = &[
    ".env",
    ".env~",
    "prod.env.bak",
    "env",
    "app/.env.production",
    "id_rsa",
    "id_ed25519.old",
    "server.pem",
    ".npmrc",
    ".netrc",
    ".pgpass",
    "x.tfvars",
    "kubeconfig",
    ".aws/credentials",
    "terraform.tfstate.backup",
    "credentials.json",
    "keystore.jks",
    "deploy.key.orig",
];

/// Lines that hold none.
const FREE: &[(&str, &str)] = &[
    ("x.rs", "let token = lexer.next_token();"),
    ("x.rs", "password: String,"),
    ("x.rs", "pub(crate) secret: Option<SecretString>,"),
    ("x.rs", "if password.len() < 8 { return Err(Weak); }"),
    ("x.rs", "let api_key = std::env::var(\"API_KEY\")?;"),
    ("x.rs", "const TOKEN_NAMES: &[&str] = &[\"if\", \"else\"];"),
    ("x.rs", "token: Token::Identifier(name.clone()),"),
    ("x.rs", "assert_eq!(tokens[3], Token::Eof);"),
    ("x.rs", "let key = map.keys().next();"),
    ("x.py", "password = getpass.getpass('Password: ')"),
    ("x.py", "password = os.environ[\"DB_PASSWORD\"]"),
    ("x.py", "token = request.headers.get('Authorization')"),
    ("x.py", "def check_password(self, password: str) -> bool:"),
    ("x.py", "secret_name = \"db\""),
    ("x.py", "parser.add_argument('--password', help='the password of the user')"),
    ("x.py", "PASSWORD_FIELD = 'password'"),
    ("x.js", "const password = document.getElementById('password').value;"),
    ("x.js", "const { token } = await login(user, password);"),
    ("x.js", "headers: { Authorization: `Bearer ${token}` },"),
    ("x.js", "apiKey: process.env.API_KEY,"),
    ("x.js", "<input type=\"password\" name=\"password\" />"),
    ("x.js", "placeholder: 'Enter your password',"),
    ("x.js", "import { tokenize } from './tokenizer';"),
    ("x.java", "private final String password;"),
    ("x.java", "if (password == null) return 1;"),
    ("x.java", "user.setPassword(encoder.encode(password));"),
    ("x.go", "token := r.Header.Get(\"Authorization\")"),
    ("x.go", "Password string `json:\"password\"`"),
    ("x.go", "return errors.New(\"password is required\")"),
    ("x.yaml", "password: ${DB_PASSWORD}"),
    ("x.yaml", "token: {{ .Values.token }}"),
    ("x.yaml", "secret: !Ref DatabaseSecret"),
    ("x.yaml", "secretName: tls-cert"),
    ("x.yaml", "passwordSecretRef: database"),
    ("x.yaml", "password: <your-password>"),
    ("x.yaml", "api_key: your-api-key"),
    ("x.yaml", "token_url: https://example.com/oauth/token"),
    ("x.yaml", "password: changeme"),
    ("x.tf", "password = var.db_password"),
    ("x.tf", "secret_key = aws_iam_access_key.x.secret"),
    ("x.sh", "read -s PASSWORD"),
    ("x.sh", "PGPASSWORD=\"$PASSWORD\" psql"),
    ("x.sh", "if [ -z \"$TOKEN\" ]; then exit 1; fi"),
    ("x.sh", "TOKEN=$(vault read -field=token x)"),
    ("x.json", "\"password\": { \"type\": \"string\" },"),
    ("x.json", "\"integrity\": \"sha512-{86}==\","),
    ("x.json", "\"token\": null,"),
    ("x.json", "\"version\": \"1.2.3\""),
    ("x.html", "<label for=\"password\">Password</label>"),
    ("x.css", ".password-field:hover { color: #a1b2c3; }"),
    ("x.md", "Set `password:` to the password of the user."),
    ("x.md", "The token is sent as `Authorization: Bearer TOKEN`."),
    ("x.toml", "tokio = { version = \"1.54.1\", features = [\"rt\"] }"),
    ("x.lock", "checksum = \"{h64}\""),
    ("x.sql", "SELECT password FROM users WHERE id = 1;"),
    ("x.sql", "password VARCHAR(255) NOT NULL,"),
    ("x.rs", "commit: \"{h40}\","),
    ("x.rs", "// https://user@example.com:8080/x"),
    ("x.c", "#define MAX_TOKEN 1024"),
    ("x.c", "static const char *password = NULL;"),
    ("x.rs", "let id = \"getHTTP2ConnectionFromPool3WithRetry\";"),
    ("x.js", "import { useLayoutEffect2Client } from './useIsomorphicLayoutEffect';"),
    ("go.sum", "golang.org/x/net v0.1.0 h1:{43}="),
    ("x.json", "\"sha\": \"{h40}\""),
    ("x.rs", "let uuid = \"4ea38b7b-f563-7709-4bae-932f72a32ad5\";"),
    ("x.py", "hash_password('the words of the user')"),
    ("x.py", "getpass('Password: ')"),
    ("x.conf", "password required pam_unix.so"),
    ("x.sh", "docker run -u 1000:1000 image"),
    ("x.js", "login(user, 'password')"),
    ("x.sql", "CREATE USER app IDENTIFIED BY '${PASSWORD}';"),
    ("x.html", "<img src=\"/assets/IMG_20240102_111213_HDR.jpg\">"),
    ("x.rs", "#[doc(alias = \"SecretKeyWithNoPasswordAtAll\")]"),
    ("x.c", "printf(\"password '%s'\\n\", p);"),
];

/// A line with its random parts.
fn filled(template: &str, seed: u64) -> String {
    filled_with(template, seed).0
}

/// A line with its random parts, and these.
fn filled_with(template: &str, seed: u64) -> (String, Vec<String>) {
    let mut random = Random::new(seed);
    let mut draw = |set: &[u8]| char::from(set[random.below(set.len())]);
    let mut out = String::new();
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let (what, behind) = after.split_once('}').unwrap_or((after, ""));
        let (set, count): (&[u8], _) = match what.as_bytes().first() {
            Some(b'A') => (b"ABCDEFGHJKLMNPQRSTUVWXYZ234567", &what[1..]),
            Some(b'h') => (b"0123456789abcdef", &what[1..]),
            _ => (b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", what),
        };
        match count.parse::<usize>() {
            Ok(count) => {
                let part: String = (0..count).map(|_| draw(set)).collect();
                out.push_str(&part);
                parts.push(part);
            }
            Err(_) => {
                out.push('{');
                rest = after;
                continue;
            }
        }
        rest = behind;
    }
    (out + rest, parts)
}

#[test]
fn secrets_of_the_list_are_kept_and_ordinary_lines_are_not() {
    let secrets = Secrets::new();
    let mut missed = Vec::new();
    for (file, line) in KEPT {
        let found = (1..=5).filter(|n| secrets.find_in(file, &filled(line, *n)).is_some()).count();
        if found < 5 {
            missed.push(format!("{file}: {line} ({found} of 5)"));
        }
    }
    let files: Vec<&&str> = FILES.iter().filter(|name| !secrets.is_secret_file(name)).collect();
    let mut alarms = Vec::new();
    for (file, line) in FREE {
        if let Some((_, what)) = secrets.find_in(file, &filled(line, 7)) {
            alarms.push(format!("{file}: {line} ({what})"));
        }
    }
    println!(
        "recall: {} of {} kinds, {} of {} names of files; false alarms: {} of {} lines",
        KEPT.len() - missed.len(),
        KEPT.len(),
        FILES.len() - files.len(),
        FILES.len(),
        alarms.len(),
        FREE.len()
    );
    let known = MISSED.iter().filter(|(file, line)| secrets.find_in(file, line).is_none()).count();
    println!("{known} of {} lines that say nothing of what they hold are not found", MISSED.len());
    println!("missed: {missed:#?}\nfiles: {files:?}\nalarms: {alarms:#?}");
    assert!(missed.len() * 20 <= KEPT.len(), "more than one in twenty is missed");
    assert!(files.is_empty() && alarms.len() * 20 <= FREE.len());
}

/// Words of the list that are secrets of a person.
const WORDS: &[&str] = &[
    "hunter2",
    "tr0ub4dor",
    "Tr0ub4dor",
    "Summer2024",
    "changeit1",
    "s3cr3t",
    "qwerty99",
    "mailer77",
    "rootpw1",
    "backup1",
    "abc123xyz",
    "toor12",
    "Passw0rd1",
    "letmein9",
    "opensesame1",
    "correcthorse9",
    "correct-horse-battery",
];

/// What counts is the text of the prompt: no part of a secret is left in it.
#[test]
fn nothing_of_a_secret_is_left_in_a_prompt() {
    let secrets = Secrets::new();
    let mut left = Vec::new();
    for (file, line) in KEPT {
        for seed in 1..=5 {
            let (line, parts) = filled_with(line, seed);
            let text = format!("before\n{line}\nafter it;\n");
            let sent = secrets.redact_in(file, &text);
            // After the beginning of a key, all is taken for the key until its end.
            let has_end = !line.contains("-----BEGIN ");
            assert!(sent.starts_with("before\n"), "{sent}");
            assert!(!has_end || sent.ends_with("\nafter it;\n"), "{sent}");
            let parts = parts.iter().filter(|part| part.len() >= 16).map(String::as_str);
            let words = WORDS.iter().copied().filter(|word| line.contains(word));
            if let Some(part) = parts.chain(words).find(|part| sent.contains(part)) {
                left.push(format!("{file}: {line}: {part}"));
                break;
            }
        }
    }
    println!("of {} lines, a part of a secret is left in {}: {left:#?}", KEPT.len(), left.len());
    assert!(left.len() * 20 <= KEPT.len());
    for (file, text, hidden) in TEXTS {
        let sent = secrets.redact_in(file, text);
        for part in *hidden {
            assert!(!sent.contains(part), "{file}: {part} in\n{sent}");
        }
        let last = text.lines().last().expect("a line");
        assert!(sent.contains(last), "{file}: {last} is no secret:\n{sent}");
    }
    for (file, line) in FREE {
        let line = filled(line, 7);
        let sent = secrets.redact_in(file, &line);
        if sent != line {
            println!("redacted for nothing: {file}: {line}");
        }
    }
}

/// Alarms in the text files below a folder: how many lines there are, and the lines.
fn alarms_below(folder: &Path, secrets: &Secrets) -> (usize, Vec<String>) {
    let (mut lines, mut alarms) = (0, Vec::new());
    for name in crate::disk::names_below(folder) {
        // The rules themselves and their tests look like what they look for.
        let is_rules = name.contains("secrets") || name.contains("redact");
        let is_code = [".rs", ".py", ".js", ".ts", ".go", ".c", ".h", ".toml", ".yml", ".sh"]
            .iter()
            .any(|ending| name.ends_with(ending));
        if is_rules || !is_code {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&name) else { continue };
        for line in text.lines() {
            lines += 1;
            if let Some((_, what)) = secrets.find_in(&name, line) {
                let line: String = line.trim().chars().take(160).collect();
                alarms.push(format!("{line} ({what})"));
            }
        }
    }
    (lines, alarms)
}

/// `RESTITCH_CODE` names further folders, to see the alarms in what others wrote.
#[test]
fn real_code_gives_few_false_alarms() {
    let secrets = Secrets::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (lines, alarms) = alarms_below(&root, &secrets);
    println!("{} false alarms in {lines} lines of this crate: {alarms:#?}", alarms.len());
    assert!(alarms.len() * 2_000 <= lines);
    for folder in std::env::var("RESTITCH_CODE").unwrap_or_default().split(':') {
        if !folder.is_empty() {
            let (lines, alarms) = alarms_below(Path::new(folder), &secrets);
            println!("{} alarms in {lines} lines of {folder}: {alarms:#?}", alarms.len());
        }
    }
}
