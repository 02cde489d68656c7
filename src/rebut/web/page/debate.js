// The state of a debate after some of its frames. It only puts in place what a frame says: every rule is in the program.

// A row whose growing lists have only what is new: `kept` says how many of the earlier items stay in front.
function grown(row, earlier) {
  const lists = Object.entries(row.kept ?? {}).map(([name, count]) => [name, [...earlier[name].slice(0, count), ...row[name]]]);
  return { ...row, ...Object.fromEntries(lists) };
}

export class Debate {
  constructor() {
    this.opened = null;
    this.calls = new Map();
    this.points = new Map();
    this.claims = new Map();
    this.notes = [];
    this.events = [];
    this.versions = [];
    this.target = null;
    this.outcome = null;
    this.noun = "point";
    this.seq = 0;
    this.at = "";
    this.tokens = 0;
    this.usd = 0;
    this.unmatched = [];
    this.entered = 0; // how often entries of the ledger came
    this.fallbacks = new Map();
  }

  static of(frames) {
    const made = new Debate();
    for (const frame of frames) made.apply(frame);
    return made;
  }

  call(frame) {
    let found = this.calls.get(frame.key);
    if (!found) {
      found = { key: frame.key, seat: frame.seat, step: frame.step, round: frame.round, tries: [], rows: null };
      this.calls.set(frame.key, found);
    }
    return found;
  }

  apply(frame) {
    this.seq = frame.seq;
    this.at = frame.at;
    switch (frame.kind) {
      case "opened":
        this.opened = frame;
        break;
      case "asked":
        this.call(frame).tries.push({ attempt: frame.attempt ?? 1, asked: frame, came: null });
        if (this.call(frame).failed?.reopened) this.call(frame).failed = null;
        break;
      case "attempt": {
        const call = this.call(frame);
        const found = call.tries.find((one) => one.attempt === (frame.attempt ?? 1));
        if (found) found.came = frame;
        else call.tries.push({ attempt: frame.attempt ?? 1, asked: null, came: frame });
        this.tokens = frame.tokens ?? 0;
        this.usd = frame.total === "unknown" ? null : (frame.total ?? 0);
        break;
      }
      case "answered": {
        const call = this.call(frame);
        call.answered = frame;
        call.rows = frame.rows ?? [];
        break;
      }
      case "failed":
        this.call(frame).failed = frame;
        break;
      case "resumed":
        this.events.push({ at: frame.at, word: "resumed", text: frame.orphans ? `${frame.orphans} tools of the earlier process were ended` : "" });
        break;
      case "amended":
        this.events.push({ at: frame.at, word: "limits", text: frame.text });
        break;
      case "fact":
        this.fact(frame);
        break;
      case "closed":
        this.outcome = frame;
        break;
      default:
    }
    return this;
  }

  fact(frame) {
    if (frame.notes) this.notes = frame.notes;
    if (frame.target) this.target = frame.target;
    if (frame.version) this.versions.push(frame);
    if (frame.fallback) this.fallbacks.set(frame.seat, frame.fallback);
    if (frame.text) this.events.push({ at: frame.at, word: frame.fallback ? "fallback" : frame.note ? "note" : "decision", text: frame.text });
    if (frame.noun) {
      this.noun = frame.noun;
      this.entered += 1;
      for (const id of frame.gone ?? []) this.points.delete(id) || this.claims.delete(id);
      for (const point of frame.points ?? []) this.points.set(point.id, grown(point, this.points.get(point.id)));
      for (const claim of frame.claims ?? []) this.claims.set(claim.id, claim);
      for (const [key, rows] of Object.entries(frame.turns ?? {})) {
        if (this.calls.has(key)) this.calls.get(key).rows = rows;
      }
      this.unmatched = grown({ unmatched: frame.unmatched ?? [], kept: frame.kept }, this).unmatched;
    }
  }

  // What became of a point: at the end as the outcome counts it.
  fate(point) {
    const review = this.outcome?.review?.findings?.[point.id];
    if (review) return [review.ruling, review.seen, review.outside ? "outside the change" : "", review.hidden === "dismissed" ? "dismissed" : ""].filter(Boolean).join(", ") || point.status;
    return this.outcome?.final?.[point.id]?.status ?? point.status + (point.contested ? ", contested" : "");
  }

  severity(point) {
    return this.outcome?.review?.findings?.[point.id]?.severity ?? this.outcome?.final?.[point.id]?.severity ?? point.severity;
  }

  // One word for colour and shape.
  tone(point) {
    const fate = this.fate(point);
    if (/^(invalid|withdrawn)|dismissed/.test(fate) || point.struck) return "dropped";
    if (/fixed|^resolved|^conceded$/.test(fate)) return "settled";
    if (/^valid|unresolved|contested|unanswered|missing/.test(fate)) return "open";
    return fate === "raised" ? "raised" : "answered";
  }

  get seats() {
    return this.opened?.seats ?? [];
  }
}
