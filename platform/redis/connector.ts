import type { StandaloneConnectionOptions } from 'ioredis';
import { StandaloneConnector } from 'ioredis/built/connectors/index.js';
import type { NetStream } from 'ioredis/built/types.js';

/**
 * How every client of Redis connects. Node reports a fault of TLS and lets the connection live, so that a second error
 * may follow; ioredis listens to the first alone, and an error without a listener would end the process.
 */
export class RedisConnector extends StandaloneConnector {
  constructor(options: unknown) {
    super(options as StandaloneConnectionOptions);
  }

  override async connect(...parameters: Parameters<StandaloneConnector['connect']>): Promise<NetStream> {
    const stream = await super.connect(...parameters);
    return stream.on('error', () => undefined);
  }
}
