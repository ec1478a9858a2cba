// <reelwright-player>: the player of a Reelwright service in any page, without a build and without a dependency. It
// holds the service's player page in a frame, so the page around needs no player library, no further policy than
// `frame-src` (and `script-src` for this file), and cannot read the content key.
//
//   <script type="module" src="https://MEDIA_HOST/player/element.js"></script>
//   <reelwright-player hash="movie-1" token="…"></reelwright-player>
//
// Attributes: docs/guides/players.md. `waiting-for` is set by the element: what playback waits for, while it does.

const channel = 'reelwright-player';
/** Where this file came from: `https://MEDIA_HOST/player/element.js` is of `https://MEDIA_HOST/`. */
const home = new URL('..', import.meta.url);

const style = `
:host { display: block; aspect-ratio: 16 / 9; min-width: 0; background: #0b0d13; }
:host([hidden]) { display: none; }
iframe { display: block; width: 100%; height: 100%; border: 0; }
`;

/**
 * @typedef {import('./element.d.ts').PlayerState} PlayerState
 * @typedef {import('./element.d.ts').TokenRequest} TokenRequest
 * @typedef {import('./element.d.ts').TicketRequest} TicketRequest
 * @typedef {'token' | 'ticket'} Credential what may be replaced while the stream plays
 *
 * A report of the page in the frame.
 * @typedef {{name: string, state: PlayerState, detail: {kind?: string, reason?: string}}} Report
 */

export class ReelwrightPlayer extends HTMLElement {
  static observedAttributes = ['hash', 'token', 'ticket', 'poster', 'src', 'label'];

  /**
   * Called with `{hash, reason}` when the stream needs a token and has none that is valid, also in mid-play; returns
   * one, or a promise of it. Playback continues where it was.
   *
   * @type {((request: TokenRequest) => string | Promise<string>) | null}
   */
  getToken = null;
  /**
   * Called with `{hash, reason}` when the stream needs a ticket and has none that is valid, and before one expires;
   * returns one, or a promise of it. Playback is not interrupted.
   *
   * @type {((request: TicketRequest) => string | Promise<string>) | null}
   */
  getTicket = null;

  #frame = document.createElement('iframe');
  /** @type {PlayerState} */
  #state = { currentTime: 0, duration: 0, paused: true, volume: 1, muted: false, playbackRate: 1 };
  /** The address that the frame has, with the newest token; '' without one. */
  #shown = '';
  #isScheduled = false;
  /** Whether the page in the frame has sent a message, and so takes them. */
  #isHeard = false;
  /**
   * The credentials that were set before that.
   *
   * @type {Set<Credential>}
   */
  #late = new Set();
  /**
   * Commands for a stream that is not ready yet; null when it is.
   *
   * @type {object[] | null}
   */
  #early = [];
  /** @param {MessageEvent} event */
  #onMessage = (event) => this.#take(event);

  constructor() {
    super();
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    const root = this.attachShadow({ mode: 'open' });
    root.adoptedStyleSheets = [sheet];
    this.#frame.allow = 'autoplay; picture-in-picture; encrypted-media';
    this.#frame.allowFullscreen = true;
    root.append(this.#frame);
  }

  connectedCallback() {
    window.addEventListener('message', this.#onMessage);
    this.#schedule();
  }

  disconnectedCallback() {
    window.removeEventListener('message', this.#onMessage);
    // Else the frame would load this address first when it comes back.
    this.#frame.removeAttribute('src');
    this.#shown = '';
    this.#isHeard = false;
    this.#early ??= [];
    this.removeAttribute('waiting-for');
  }

  /**
   * @param {string} name
   * @param {string | null} before
   * @param {string | null} value
   */
  attributeChangedCallback(name, before, value) {
    if (before === value) return;
    const isReplaced = (name === 'token' || name === 'ticket') && this.#shown !== '' && !this.#isScheduled;
    // A new token or ticket of the same stream must not begin it again.
    if (isReplaced && value !== null) this.#replace(name, value);
    else this.#schedule();
  }

  /**
   * @param {Credential} name
   * @param {string} value
   */
  #replace(name, value) {
    this.#shown = this.#address;
    if (this.#isHeard) this.#send({ command: name, [name]: value, hash: this.hash });
    else this.#late.add(name);
  }

  get hash() {
    return this.getAttribute('hash') ?? '';
  }
  set hash(value) {
    this.setAttribute('hash', value);
  }
  get token() {
    return this.getAttribute('token') ?? '';
  }
  set token(value) {
    this.setAttribute('token', value);
  }
  get ticket() {
    return this.getAttribute('ticket') ?? '';
  }
  set ticket(value) {
    this.setAttribute('ticket', value);
  }
  get paused() {
    return this.#state.paused;
  }
  get duration() {
    return this.#state.duration;
  }
  get playbackRate() {
    return this.#state.playbackRate;
  }
  get currentTime() {
    return this.#state.currentTime;
  }
  set currentTime(time) {
    this.#command({ command: 'seek', time });
  }
  get volume() {
    return this.#state.volume;
  }
  set volume(volume) {
    this.#command({ command: 'volume', volume });
  }
  get muted() {
    return this.#state.muted;
  }
  set muted(muted) {
    this.#command({ command: 'mute', muted });
  }
  play() {
    this.#command({ command: 'play' });
  }
  pause() {
    this.#command({ command: 'pause' });
  }

  get #service() {
    const src = this.getAttribute('src');
    return src === null ? home : new URL(src.endsWith('/') ? src : `${src}/`, document.baseURI);
  }

  get #address() {
    const fragment = new URLSearchParams();
    for (const name of ['hash', 'token', 'ticket', 'poster']) {
      const value = this.getAttribute(name) ?? '';
      if (value !== '') fragment.set(name, value);
    }
    fragment.set('embedded', '1');
    return new URL(`player/#${fragment}`, this.#service).href;
  }

  /** @param {object} message */
  #command(message) {
    if (this.#early === null) this.#send(message);
    else this.#early.push(message);
  }

  /** @param {object} message */
  #send(message) {
    this.#frame.contentWindow?.postMessage({ channel, ...message }, this.#service.origin);
  }

  /** Attributes that are set together begin one playback. */
  #schedule() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      if (this.isConnected) this.#show();
    });
  }

  #show() {
    this.#frame.title = this.getAttribute('label') ?? `Video ${this.hash}`;
    const [address, before] = [this.#address, this.#shown];
    if (this.hash === '' || address === before) return;
    this.#shown = address;
    this.#early ??= [];
    this.#late.clear();
    if (address.split('#')[0] !== before.split('#')[0]) this.#isHeard = false;
    // The button Back belongs to the page around: another stream is no entry of its history.
    if (before === '') this.#frame.src = address;
    else this.#frame.contentWindow?.location.replace(address);
  }

  /** @param {MessageEvent} event */
  #take({ source, origin, data }) {
    if (source !== this.#frame.contentWindow || origin !== this.#service.origin || data?.channel !== channel) return;
    /** @type {Report} */
    const { name, state, detail } = data;
    this.#state = state;
    this.#isHeard = true;
    if (name === 'tokenneeded') void this.#renew('token', detail);
    if (name === 'ticketneeded') void this.#renew('ticket', detail);
    if (name === 'ready') {
      for (const message of this.#early ?? []) this.#send(message);
      this.#early = null;
    }
    if (name === 'waitingfor') this.#showWait(detail.reason);
    this.dispatchEvent(new CustomEvent(name, { detail: { ...detail, ...state } }));
  }

  /** @param {string} [reason] */
  #showWait(reason = '') {
    if (reason === '') this.removeAttribute('waiting-for');
    else this.setAttribute('waiting-for', reason);
  }

  /**
   * @param {Credential} name
   * @param {Report['detail']} detail
   */
  async #renew(name, { kind = '' }) {
    const { hash } = this;
    let value = this.#late.delete(name) ? this[name] : '';
    try {
      value ||= (await this.#get(name, { hash, kind })) ?? '';
    } catch (error) {
      this.dispatchEvent(new CustomEvent(`${name}failed`, { detail: { error } }));
    }
    // An empty one makes the player show why the stream does not play.
    if (hash === this.hash) this.#send({ command: name, [name]: value, hash });
  }

  /**
   * @param {Credential} name
   * @param {{hash: string, kind: string}} needed
   */
  #get(name, { hash, kind }) {
    const isMissing = kind === 'key-401' || kind === 'ticket-missing';
    if (name === 'token') return this.getToken?.({ hash, reason: isMissing ? 'missing' : 'refused' });
    const reason = kind === 'ticket-expiring' ? 'expiring' : 'refused';
    return this.getTicket?.({ hash, reason: isMissing ? 'missing' : reason });
  }
}

if (!customElements.get('reelwright-player')) customElements.define('reelwright-player', ReelwrightPlayer);
