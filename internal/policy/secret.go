package policy

import "strings"

// secret reports files that usually hold credentials. It looks at names only, so
// it flags and never denies.
func secret(parts []string) bool {
	if len(parts) == 0 {
		return false
	}
	base := fold(parts[len(parts)-1])
	dir := ""
	if len(parts) > 1 {
		dir = fold(parts[len(parts)-2])
	}
	return secretName(base) || secretSuffix(base) || secretIn(dir, base) || secretUnder(parts)
}

func secretName(base string) bool {
	switch base {
	case ".env", ".envrc", ".npmrc", ".netrc", "_netrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd",
		".git-credentials", ".dockercfg", ".s3cfg", ".boto", ".vault-token", ".terraformrc", ".credentials",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "id_xmss",
		"credentials", "credentials.json", "credentials.toml", "credentials.yml", "credentials.yaml", "credentials.csv",
		"secrets.json", "secrets.toml", "secrets.yml", "secrets.yaml", "kubeconfig", "terraform.tfstate",
		"application_default_credentials.json", "auth.json", "token.json":
		return true
	}
	return strings.HasPrefix(base, "client_secret") && strings.HasSuffix(base, ".json") ||
		strings.HasPrefix(base, "service-account") && strings.HasSuffix(base, ".json") ||
		strings.HasPrefix(base, "service_account") && strings.HasSuffix(base, ".json") ||
		dotEnv(base)
}

// dotEnv matches .env.NAME and NAME.env, but not the examples that projects commit.
func dotEnv(base string) bool {
	var what string
	switch {
	case strings.HasPrefix(base, ".env."):
		what = base[len(".env."):]
	case strings.HasSuffix(base, ".env"):
		what = strings.TrimSuffix(base, ".env")
	default:
		return false
	}
	for word := range strings.SplitSeq(what, ".") {
		switch word {
		case "example", "sample", "template", "dist", "tmpl", "schema":
			return false
		}
	}
	return true
}

func secretSuffix(base string) bool {
	for _, s := range []string{
		".pem", ".key", ".p12", ".pfx", ".p8", ".jks", ".keystore", ".kdbx", ".kdb", ".ppk", ".pkcs12",
		".ovpn", ".tfstate", ".tfstate.backup", ".tfvars", ".agekey", ".keychain",
	} {
		if strings.HasSuffix(base, s) {
			return true
		}
	}
	return false
}

// secretIn lists files that are only telling by the folder they are in.
func secretIn(dir, base string) bool {
	switch dir {
	case ".aws", ".azure", ".kube", ".docker", ".cargo", ".gem", ".gcloud", ".oci":
		return base == "config" || base == "config.json" || strings.HasPrefix(base, "credentials") ||
			strings.HasPrefix(base, "accesstokens") || strings.HasPrefix(base, "msal_token")
	case ".ssh":
		return base != "known_hosts" && base != "authorized_keys" && !strings.HasSuffix(base, ".pub")
	case ".m2":
		return base == "settings.xml" || base == "settings-security.xml"
	}
	return false
}

// secretUnder lists files inside version control data that hold passwords (the
// address of a remote can), and folders that hold nothing but secrets.
func secretUnder(parts []string) bool {
	base := fold(parts[len(parts)-1])
	for i, p := range parts[:len(parts)-1] {
		switch fold(p) {
		case ".gnupg", ".password-store":
			return true
		case ".svn":
			if fold(parts[i+1]) == "auth" {
				return true
			}
		}
		if kindOf(p) != vcs {
			continue
		}
		switch base {
		case "config", "config.worktree", "credentials", "hgrc", "fetch_head", "config.toml":
			return true
		}
	}
	return false
}
