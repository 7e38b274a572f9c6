import type { Fault } from "@svc/options";
import type { AnyConfig } from "./configure.ts";
import type { ResolvedServiceOptions } from "./service-options.ts";
import { publicFolderOf } from "./web/public-folder.ts";

/** Returns the faults of a service's kind: a missing plugin, and options without effect (PROF-7). */
export function faultsOfKind(resolved: ResolvedServiceOptions, { plugins }: AnyConfig): readonly Fault[] {
  const { kind, publicDir, work } = resolved;
  if (kind === "web") {
    // A worker serves no files, so its deployment need not contain them.
    const { fault } = work.role === "worker" ? {} : publicFolderOf(publicDir);
    return fault === undefined ? [] : [fault];
  }
  const missing =
    kind === "gateway" && !plugins.includes("gateway")
      ? [
          {
            key: "kind",
            message: 'is "gateway", which needs the plugin gateway: add it to [plugins] enabled',
          },
        ]
      : [];
  return [...missing, ...unused(resolved)];
}

function unused(resolved: ResolvedServiceOptions): readonly Fault[] {
  return webOptions
    .filter((key) => resolved[key] !== undefined)
    .map((key) => ({ key, message: `has no effect without kind "web"; set kind: "web", or remove ${key}` }));
}

const webOptions = ["errorPage", "publicDir", "publicMaxAgeSeconds"] as const;
