import { createRequire, register } from "node:module";
import { pathToFileURL } from "node:url";

interface ImportHooks {
  supportsSyncHooks(): boolean;
  register(options: { readonly include: readonly string[] }): void;
}

const INSTRUMENTATION = "@opentelemetry/instrumentation";
const require = createRequire(import.meta.url);

/**
 * Makes instrumentations see modules that the application imports; otherwise they see only modules that the application
 * loads with `require`.
 *
 * @param instrumentations packages of instrumentations; each may have its own copy of the hooks
 * @param include the modules; others are not touched
 */
export function hookImports(instrumentations: readonly string[], include: readonly string[]): void {
  const bases = new Map(
    instrumentations.map((name) => {
      const base = createRequire(createRequire(require.resolve(name)).resolve(INSTRUMENTATION));
      return [base.resolve("import-in-the-middle"), base];
    }),
  );
  for (const [copy, base] of bases) {
    const hooks = synchronousHooks(base);
    if (hooks !== undefined) hooks.register({ include: [...include] });
    else {
      const url = pathToFileURL(copy);
      register("./hook.mjs", url, { data: { include: [...include] } });
    }
  }
}

/** Returns undefined when Node or the installed package supports only hooks in another thread. */
function synchronousHooks(base: NodeJS.Require): ImportHooks | undefined {
  try {
    const hooks = base("import-in-the-middle/register-hooks.mjs") as ImportHooks;
    return hooks.supportsSyncHooks() ? hooks : undefined;
  } catch {
    return undefined;
  }
}
