import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;

/** Sequences of transitions of TransactionMetadata, each prepared and completed as TransactionCoordinator does. */
public final class TransactionTransitions {
    private static final int TIMEOUT_MS = 60_000;
    private static final long NEW_ID = 900;
    private static final Class<?> METADATA = Reflection.type("kafka.coordinator.transaction.TransactionMetadata",
        "org.apache.kafka.coordinator.transaction.TransactionMetadata");
    private static final boolean IS_SCALA = Reflection.method(METADATA, "pendingState_$eq", 1) != null;
    private static final Class<?> VERSION = Reflection.type("org.apache.kafka.server.common.TransactionVersion");

    private final Object metadata;
    private long now;
    private long newIds = NEW_ID;

    private TransactionTransitions(short epoch) throws Exception {
        metadata = metadata(epoch);
    }

    public static void main(String[] arguments) throws Exception {
        Cases.answer(fields -> new TransactionTransitions(Short.parseShort(fields.get("epoch"))).run(fields.get("calls")));
    }

    private Object run(String calls) throws Exception {
        List<String> results = new ArrayList<>();
        for (String call : calls.split(",")) {
            now += 10;
            results.add(result(call.split(":")));
        }
        return String.join(" ", results);
    }

    private String result(String[] call) throws Exception {
        Object transit;
        try {
            transit = prepared(call);
        } catch (ApiException error) {
            return Errors.forException(error).name();
        } catch (RuntimeException error) {
            set("pendingState", none());
            return "invalid";
        }
        if (transit instanceof Errors) {
            return ((Errors) transit).name();
        }
        if (call[0].equals("fence_failed")) {
            set("pendingState", none());
            set("hasFailedEpochFence", true);
        } else {
            Reflection.call(metadata, "completeTransitionTo", transit);
        }
        return state();
    }

    /** A transition, or an exception where the metadata or, before it is asked, the coordinator rejects it. */
    private Object prepared(String[] call) throws Exception {
        String state = name(Reflection.call(metadata, "state"));
        boolean isIdle = state.equals("EMPTY") || state.startsWith("COMPLETE");
        boolean isEmptyAbort = call[0].equals("abort") && call[1].equals("2") && isIdle;
        boolean isEnd = call[0].equals("commit") || call[0].equals("abort");
        if (call[0].equals("init") && !isIdle || isEnd && !isEmptyAbort && !state.equals("ONGOING")) {
            throw new IllegalStateException(state);
        }
        switch (call[0]) {
            case "init":
                boolean isNamed = !call[1].equals("-1");
                if ((Boolean) Reflection.call(metadata, "isProducerEpochExhausted")) {
                    return Reflection.call(metadata, "prepareProducerIdRotation", newIds++, TIMEOUT_MS, now, isNamed);
                }
                Object epoch = !isNamed ? none() : some(Short.valueOf(call[1]));
                return either(Reflection.call(metadata, "prepareIncrementProducerEpoch", TIMEOUT_MS, epoch, now));
            case "add":
                return added(call[1]);
            case "fence":
            case "fence_failed":
                Object fence = Reflection.call(metadata, "prepareFenceProducerEpoch");
                set("pendingState", none());
                set("producerEpoch", Reflection.call(fence, "producerEpoch"));
                set("lastProducerEpoch", (short) -1);
                return ended("PREPARE_ABORT", 0, false);
            case "commit":
            case "abort":
                String target = call[0].equals("commit") ? "PREPARE_COMMIT" : "PREPARE_ABORT";
                return ended(target, Integer.parseInt(call[1]), isEmptyAbort);
            default:
                return Reflection.call(metadata, "prepareComplete", now);
        }
    }

    private Object added(String text) throws Exception {
        Set<TopicPartition> partitions = new HashSet<>();
        for (String number : text.split("\\+")) {
            partitions.add(new TopicPartition("t", Integer.parseInt(number)));
        }
        Object given = partitions;
        if (IS_SCALA) {
            given = Reflection.call(Reflection.scalaObject("scala.collection.immutable.Set"), "empty");
            for (TopicPartition partition : partitions) {
                String method = Reflection.method(given.getClass(), "incl", 1) != null ? "incl" : "$plus";
                given = Reflection.call(given, method, partition);
            }
        }
        if (Reflection.method(METADATA, "prepareAddPartitions", 3) == null) {
            return Reflection.call(metadata, "prepareAddPartitions", given, now);
        }
        return Reflection.call(metadata, "prepareAddPartitions", given, now, Reflection.get(VERSION, "TV_0"));
    }

    private Object ended(String state, int version, boolean isEmpty) throws Exception {
        Object target = constant(state);
        if (Reflection.method(METADATA, "prepareAbortOrCommit", 2) != null) {
            return Reflection.call(metadata, "prepareAbortOrCommit", target, now);
        }
        boolean isExhausted = version == 2 && (Boolean) Reflection.call(metadata, "isProducerEpochExhausted");
        long next = isExhausted ? newIds++ : -1L;
        Object used = Reflection.get(VERSION, "TV_" + version);
        return Reflection.call(metadata, "prepareAbortOrCommit", target, used, next, now, isEmpty);
    }

    private static Object constant(String state) throws Exception {
        Class<?> type = Reflection.method(METADATA, "state", 0).getReturnType();
        if (type.isEnum()) {
            return Reflection.get(type, state);
        }
        return Reflection.scalaObject("kafka.coordinator.transaction." + (state.equals("EMPTY") ? "Empty"
            : state.equals("PREPARE_ABORT") ? "PrepareAbort" : "PrepareCommit"));
    }

    /** Value of the right side of a Scala Either, the error of its left side, or the value itself. */
    private static Object either(Object found) throws Exception {
        boolean isEither = found.getClass().getName().matches("scala\\.util\\.(Left|Right)");
        return isEither ? Reflection.call(found, "value") : found;
    }

    private static Object none() throws Exception {
        return IS_SCALA ? Reflection.scalaObject("scala.None") : Optional.empty();
    }

    private static Object some(Object value) throws Exception {
        return IS_SCALA ? Reflection.make(Class.forName("scala.Some"), value) : Optional.of(value);
    }

    private void set(String name, Object value) throws Exception {
        Field field = null;
        try {
            field = Reflection.field(METADATA, name);
        } catch (NoSuchFieldException older) {
            return;
        }
        field.set(metadata, value);
    }

    private String state() throws Exception {
        TreeSet<Integer> partitions = new TreeSet<>();
        for (Object partition : Cases.elements(Reflection.call(metadata, "topicPartitions"))) {
            partitions.add(((TopicPartition) partition).partition());
        }
        boolean isEmpty = name(Reflection.call(metadata, "state")).equals("EMPTY");
        return name(Reflection.call(metadata, "state")) + "/" + Reflection.call(metadata, "producerId") + "/"
            + Reflection.call(metadata, "producerEpoch") + "/" + Reflection.call(metadata, "lastProducerEpoch") + "/"
            + previous() + "/" + partitions.toString().replaceAll("[\\[\\] ]", "").replace(",", "+") + "/"
            + (isEmpty ? "" : Reflection.call(metadata, "txnStartTimestamp"));
    }

    /** The previous producer id, -1 if it is the current one. */
    private Object previous() throws Exception {
        Object found = previousId();
        return found.equals(Reflection.call(metadata, "producerId")) ? -1 : found;
    }

    private Object previousId() throws Exception {
        for (String name : new String[] {"lastProducerId", "previousProducerId", "prevProducerId"}) {
            Method method = Reflection.method(METADATA, name, 0);
            if (method != null) {
                return method.invoke(metadata);
            }
        }
        return -1;
    }

    private static String name(Object state) {
        String text = state instanceof Enum ? ((Enum<?>) state).name() : state.getClass().getSimpleName().replace("$", "");
        return text.equals(text.toUpperCase()) ? text : text.replaceAll("(?<=[a-z])(?=[A-Z])", "_").toUpperCase();
    }

    private static Object metadata(short epoch) throws Exception {
        Constructor<?> constructor = METADATA.getConstructors()[0];
        Class<?>[] types = constructor.getParameterTypes();
        Object[] given = new Object[types.length];
        int longs = 0;
        int shorts = 0;
        for (int i = 0; i < types.length; i++) {
            boolean isTime = i > 0 && longs > 0 && i >= types.length - 3 && types[i] == long.class;
            given[i] = types[i] == String.class ? "id"
                : types[i] == int.class ? (Object) TIMEOUT_MS
                : types[i] == short.class ? (Object) (shorts++ == 0 ? epoch : (short) -1)
                : types[i] == long.class ? (Object) (isTime ? -1L : longs++ == 0 ? 7L : -1L)
                : types[i] == Set.class ? new HashSet<>()
                : types[i] == VERSION ? Reflection.get(VERSION, "TV_0")
                : types[i].getName().contains("mutable.Set")
                    ? Reflection.call(Reflection.scalaObject("scala.collection.mutable.Set"), "empty")
                : constant("EMPTY");
        }
        return constructor.newInstance(given);
    }
}
