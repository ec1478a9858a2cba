// Server-Sent Events (HTML standard, section 9.2) from a body that `fetch` streams: `EventSource` sends no API key.

export interface ServerEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/** An item of a stream: an event, or a sign of life between two. */
export type StreamItem = ServerEvent | 'alive';

/** The most characters of one event: a job is far smaller. */
const eventCharactersMax = 4 * 1024 * 1024;

/** The events of a body in order, and `alive` for every piece that completes none; ends when `signal` aborts. */
export async function* readEvents(body: ReadableStream<Uint8Array>, signal?: AbortSignal): AsyncGenerator<StreamItem> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  signal?.addEventListener('abort', () => void reader.cancel().catch(() => undefined), { once: true });
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true }).replaceAll('\r', '');
      if (text.length > eventCharactersMax) throw new Error('an event is too large');
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      const events = blocks.map(eventOf).filter((event) => event !== null);
      if (events.length === 0) yield 'alive';
      yield* events;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Null for a comment, or a block without data. */
function eventOf(block: string): ServerEvent | null {
  const fields = { id: '', event: 'message', data: [] as string[] };
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === 'data') fields.data.push(value);
    else if (name === 'id' || name === 'event') fields[name] = value;
  }
  return fields.data.length === 0 ? null : { ...fields, data: fields.data.join('\n') };
}
