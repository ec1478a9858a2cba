import { connect } from 'node:net';

/** An answer as it came over the socket. */
export interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/**
 * Sends bytes to a listener as they are, where every HTTP client would refuse, encode or normalise them, and reads what
 * comes until the other side closes. Latin-1, so that each character is a byte.
 *
 * @throws Error when no answer came
 */
async function sendRaw(url: string, request: string | Buffer): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve, reject) => {
    socket.setTimeout(20_000, () => socket.destroy(new Error('no answer')));
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    // A server may close while the rest of an overlong request is still under way; what it said counts.
    socket.on('error', (error) => (chunks.length > 0 ? resolve() : reject(error)));
    socket.on('close', () => resolve());
    socket.write(request);
  });
  const text = Buffer.concat(chunks).toString('latin1');
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
  if (Number.isNaN(status)) throw new Error(`no answer: ${text.slice(0, 100)}`);
  const end = text.indexOf('\r\n\r\n');
  return { status, head: text.slice(0, end).toLowerCase(), body: text.slice(end + 4) };
}

/** A GET whose target and header lines are sent as they are, on a connection of its own. */
export function getRaw(url: string, target: string, ...headerLines: string[]): Promise<RawAnswer> {
  const lines = [`GET ${target} HTTP/1.1`, 'Host: media.test', 'Connection: close', ...headerLines, '', ''];
  return sendRaw(url, Buffer.from(lines.join('\r\n'), 'latin1'));
}
