/** A program that tests start and that npm does not install. */
export interface Program {
  /** Its name in messages. */
  readonly title: string;
  /** The names of its executable, the preferred one first. */
  readonly files: readonly string[];
  /** The Debian package to install. */
  readonly package: string;
  /** The Debian packages that work when they are only unpacked. Default: the package has to be installed. */
  readonly unpacked?: readonly string[] | undefined;
}

/** The name of a program in {@link programs}. */
export type ProgramName = "redis" | "nats" | "pgbouncer" | "promtool" | "chromium" | "python" | "psql";

/** The programs that tests may need. `scripts/ci-packages.sh` lists a package for each of them. */
export const programs: Readonly<Record<ProgramName, Program>> = {
  redis: {
    title: "Redis",
    files: ["redis-server", "valkey-server"],
    package: "redis-server",
    unpacked: ["redis-server", "redis-tools"],
  },
  nats: { title: "NATS", files: ["nats-server"], package: "nats-server", unpacked: ["nats-server"] },
  pgbouncer: { title: "PgBouncer", files: ["pgbouncer"], package: "pgbouncer", unpacked: ["pgbouncer"] },
  promtool: { title: "promtool", files: ["promtool"], package: "prometheus", unpacked: ["prometheus"] },
  chromium: {
    title: "Chromium",
    // The headless shell is the same browser without its own windows, and takes half the CPU time.
    files: [
      "chromium-headless-shell",
      "chromium",
      "chromium-browser",
      "google-chrome",
      "google-chrome-stable",
    ],
    package: "chromium-headless-shell",
  },
  python: { title: "Python", files: ["python3"], package: "python3" },
  psql: { title: "psql", files: ["psql"], package: "postgresql-client" },
};
