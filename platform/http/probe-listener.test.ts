import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { freePort } from '../../testing/free-port.ts';
import { createLogger } from '../telemetry/logger.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { probeListener } from './probe-listener.ts';

it('a probe that came while the process stood still is answered', async () => {
  const port = await freePort();
  const listener = probeListener({
    config: { host: '127.0.0.1', probePort: port },
    required: {},
    checks: {},
    metrics: new Metrics(),
    log: createLogger({ level: 'silent', name: 'test' }),
  });
  await listener.start();
  const [early, late] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
  const answerTo = async (socket: typeof early) => {
    const [data] = (await once(socket, 'data')) as [Buffer];
    return data.toString().split('\r\n', 1)[0];
  };
  const probe = 'GET /healthz HTTP/1.1\r\nHost: probes\r\n\r\n';
  // Once one connection is answered, the process has accepted the other.
  late.write(probe);
  expect(await answerTo(late)).toBe('HTTP/1.1 200 OK');
  const answered = answerTo(early);
  // Timers run next, and with them what closes late connections, before the socket is read.
  await turn();
  early.write(probe);
  // As long as a kubelet waits.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);
  expect(await answered).toBe('HTTP/1.1 200 OK');
  for (const socket of [early, late]) socket.destroy();
  await listener.stop(new AbortController().signal);
});
