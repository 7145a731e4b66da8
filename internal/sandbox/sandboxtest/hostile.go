package sandboxtest

import "fmt"

// Hostile lists commands that try to change the workspace at ws or what lies
// outside, which is at out.
func Hostile(ws, out string) []string {
	var lines []string
	for _, target := range []string{ws, ws + "/src", ws + "/.git", ws + "/.coderrr", out, "/proc/self/root" + out, "/proc/1/root" + ws, "link"} {
		for _, how := range []string{
			"rm -rf %s/*", "rm -rf %s/.[a-z]*", "rm -rf %s", "mv %s /tmp/gone", "echo x > %s/new", "for f in $(find %s -type f); do echo x >> $f; done",
			"find %s -type f -exec chmod 777 {} +", "find %s -exec touch -d 2001-01-01 {} +", "chmod -R 0 %s", "chown -R 1 %s",
			"find %s -type f -exec truncate -s 0 {} +", "find %s -type f -exec sh -c 'ln -f \"$1\" /tmp/h; echo x >> /tmp/h' - {} ;",
			"find %s -type f -exec sed -i s/a/b/ {} +", "tar cf - %s | tar xf - -C %[1]s", "cp -r /etc/passwd %s/", "ln -sfn /etc %s",
			"mkdir -p %s/a/b/c && rmdir %[1]s/*", "mkfifo %s/f", "dd if=/dev/zero of=%s/big bs=1M count=90",
		} {
			lines = append(lines, fmt.Sprintf(how, target))
		}
	}
	return append(lines,
		"git config core.fsmonitor 'touch "+out+"/x'", "echo '#!/bin/sh' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit",
		"git init -q && git add -A && git -c user.email=a@b -c user.name=n commit -qm x", "git clean -fdxq", "git checkout -q -f .",
		"mkdir -p .coderrr ~/.coderrr ~/.config/autostart && echo x > .coderrr/config.toml && echo x > ~/.coderrr/config.toml",
		"mount --bind / "+ws, "mount -o remount,rw /", "mount -t tmpfs x "+ws, "umount "+ws, "umount -l /", "unshare -Urm rm -rf "+ws,
		"unshare -Ur sh -c 'mount --bind /tmp "+ws+"'", "nsenter -t 1 -m rm -rf "+ws, "chroot / rm -rf "+ws, "pivot_root . .",
		"swapoff -a", "echo b > /proc/sysrq-trigger-x", "echo x > /proc/sys/kernel/hostname", "hostname evil", "sysctl -w kernel.core_pattern=x",
		"kill -9 -1", "kill -9 1", "kill -STOP 1", "pkill -9 .", "for p in /proc/[0-9]*; do kill -9 ${p#/proc/}; done",
		":(){ :|:& };:", "f() { f | f & }; f", "yes > /tmp/fill", "yes > "+ws+"/fill", "yes > ~/fill", "yes > /dev/shm/fill", "yes", "yes >&2",
		"cat /dev/zero", "head -c 300M /dev/zero | tail", "i=0; while :; do i=$((i+1)); mkdir $i && cd $i || break; done",
		"i=0; while [ $i -lt 3000 ]; do i=$((i+1)); : > f$i; done", "exec 3<>/dev/tcp/127.0.0.1/22", "ulimit -n 1000000; ulimit -c unlimited",
		"su -c true", "sudo -n true", "passwd -d root", "useradd x", "crontab -l", "at now", "systemctl reboot", "reboot -f", "poweroff -f", "dmesg -c",
		"mknod disk b 254 0 && dd if=/dev/zero of=disk count=1", "dd if=/dev/zero of=/dev/vda count=1", "dd if=/dev/zero of=/dev/sda count=1",
		"ln "+out+"/file hard && echo x > hard", "cp -a "+out+" . ; echo x > "+out+"/file", "setsid nohup sh -c 'sleep 1; rm -rf "+ws+" "+out+"' & exit",
		"trap '' TERM; sleep 30", "(sleep 2; echo late > "+out+"/late) & exit 0", "exec sleep 30", "kill -SEGV $$", "ulimit -v 1000; ls", "exec 1>&-; echo x", "exec 2>&- 0<&-; read x",
	)
}
