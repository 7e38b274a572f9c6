import type { SpanHook } from "@svc/context";
import type { PluginContext } from "./plugin.ts";

/** The part `telemetry`, as plugins that create spans use it. */
interface SpanPart {
  readonly exporting: boolean;
  readonly span: SpanHook;
}

/** Returns the hook for a package's option `span`; undefined without the plugin `telemetry` and while it exports nothing. */
export function spanPart({ part }: Pick<PluginContext, "part">): SpanHook | undefined {
  const telemetry = part<SpanPart>("telemetry");
  return telemetry?.exporting === true ? telemetry.span : undefined;
}
