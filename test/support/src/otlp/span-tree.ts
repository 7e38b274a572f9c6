import type { ReceivedSpan } from "@svc/conformance/otlp";

/**
 * Returns the spans below a parent as indented lines with kind and name, in the order of their starts. Jobs and events come
 * last, because other processes may run them.
 *
 * @param parentId undefined for the spans without a parent
 */
export function treeOf(
  spans: readonly ReceivedSpan[],
  parentId: string | undefined,
  indent = "",
): readonly string[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parentId)
    .toSorted((a, b) => Number(isConsumer(a)) - Number(isConsumer(b)) || a.startMs - b.startMs)
    .flatMap((span) => [`${indent}${span.kind} ${span.name}`, ...treeOf(spans, span.spanId, `${indent}  `)]);
}

function isConsumer({ kind }: ReceivedSpan): boolean {
  return kind === "consumer";
}
