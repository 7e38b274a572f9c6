/** A program of another project that tests start, and that npm does not bring. */
export interface Program {
  /** What it is, for messages. */
  readonly title: string;
  /** The names of its file, the best one first. */
  readonly files: readonly string[];
  /** The package of Debian to install. */
  readonly package: string;
  /** The packages of Debian that work when they are only unpacked. Default: it has to be installed. */
  readonly unpacked?: readonly string[] | undefined;
}

/** The name of a program in {@link programs}. */
export type ProgramName = "redis" | "nats" | "pgbouncer" | "promtool" | "chromium" | "python" | "psql";

/** What tests may need. The list of `scripts/ci-packages.sh` installs all of it. */
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
    // The first is the same browser without its own windows, and needs half the time of a processor.
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
