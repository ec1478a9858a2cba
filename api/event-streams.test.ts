import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { EventStreams } from './event-streams.ts';

const newResponse = () => new ServerResponse(new IncomingMessage(new Socket()));

describe('event streams', () => {
  it('C13.45: a key at its bound is busy, another key is not until the process is full', () => {
    const streams = new EventStreams({ streamsMax: 3, perKeyMax: 2 });
    for (const key of ['a', 'a', 'b']) streams.begin(key, newResponse());
    for (const key of ['a', 'b', 'c'])
      expect(() => streams.begin(key, newResponse())).toThrow(expect.objectContaining({ code: 'busy' }));
    const ofKey = new EventStreams({ streamsMax: 3, perKeyMax: 2 });
    for (const key of ['a', 'a']) ofKey.begin(key, newResponse());
    expect(() => ofKey.begin('a', newResponse())).toThrow('Too many event streams are open');
    ofKey.begin('b', newResponse());
  });

  it('a stream that is closed gives its place back, and a key without streams is forgotten', () => {
    const streams = new EventStreams({ streamsMax: 1, perKeyMax: 1 });
    for (let i = 0; i < 1000; i++) {
      const response = newResponse();
      streams.begin(`key-${i}`, response);
      response.emit('close');
      response.emit('close');
    }
    expect(streams.size).toBe(0);
  });

  it('a response that was closed before its turn takes no place', () => {
    const streams = new EventStreams({ streamsMax: 1, perKeyMax: 1 });
    const closed = newResponse();
    closed.destroy();
    streams.begin('a', closed);
    expect(streams.size).toBe(0);
  });
});
