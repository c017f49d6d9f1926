import java.io.File;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;

/** Sequences of calls of LeaderEpochFileCache: its entries after each change, and the result of each query. */
public final class LeaderEpochCaches {
    private static final Class<?> CACHE = Reflection.type(
        "kafka.server.epoch.LeaderEpochFileCache", "org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache");
    private static long logEndOffset;

    public static void main(String[] arguments) throws Exception {
        Cases.answer(LeaderEpochCaches::run);
    }

    private static Object run(Map<String, String> fields) throws Exception {
        Object cache = cache();
        List<String> results = new ArrayList<>();
        for (String call : fields.get("calls").split(",")) {
            results.add(result(cache, call.split(":")));
        }
        return String.join(" ", results);
    }

    private static String result(Object cache, String[] call) throws Exception {
        long number = call.length > 1 ? Long.parseLong(call[1]) : 0;
        switch (call[0]) {
            case "assign":
                Reflection.method(CACHE, "assign", 2).invoke(cache, (int) number, Long.parseLong(call[2]));
                return entries(cache);
            case "truncate_end":
                named("clearAndFlushLatest", "truncateFromEnd", "truncateFromEndAsyncFlush").invoke(cache, number);
                return entries(cache);
            case "truncate_start":
                named("clearAndFlushEarliest", "truncateFromStart", "truncateFromStartAsyncFlush").invoke(cache, number);
                return entries(cache);
            case "clear":
                Reflection.call(cache, "clearAndFlush");
                return entries(cache);
            case "end_offset":
                return endOffset(cache, (int) number, Long.parseLong(call[2]));
            default:
                Method method = Reflection.method(CACHE, "epochForOffset", 1);
                return method == null ? "?" : method.invoke(cache, number).toString().replaceAll("[^0-9]+", "");
        }
    }

    private static String endOffset(Object cache, int epoch, long end) throws Exception {
        logEndOffset = end;
        Method method = Reflection.method(CACHE, "endOffsetFor", 2);
        Object found = method != null ? method.invoke(cache, epoch, end)
            : Reflection.method(CACHE, "endOffsetFor", 1).invoke(cache, epoch);
        return found.toString().replaceAll("[()]", "").replaceAll("[,=]", ":");
    }

    private static Method named(String... names) {
        for (String name : names) {
            Method method = Reflection.method(CACHE, name, 1);
            if (method != null && !java.lang.reflect.Modifier.isStatic(method.getModifiers())) {
                return method;
            }
        }
        throw new IllegalStateException(Arrays.toString(names));
    }

    private static String entries(Object cache) throws Exception {
        List<String> found = new ArrayList<>();
        for (Object entry : Cases.elements(Reflection.call(cache, "epochEntries"))) {
            found.add(Reflection.get(entry, "epoch") + ":" + Reflection.get(entry, "startOffset"));
        }
        return found.isEmpty() ? "-" : String.join(",", found);
    }

    private static Object cache() throws Exception {
        Constructor<?> constructor = CACHE.getConstructors()[0];
        Type[] types = constructor.getGenericParameterTypes();
        Object[] given = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            Class<?> type = constructor.getParameterTypes()[i];
            given[i] = type == TopicPartition.class ? new TopicPartition("t", 0)
                : type.isInterface() ? substitute(type, types[i].toString().contains("LogOffsetMetadata"))
                : checkpoint(type);
        }
        return constructor.newInstance(given);
    }

    private static Object checkpoint(Class<?> type) throws Exception {
        File directory = java.nio.file.Files.createTempDirectory("epochs").toFile();
        File file = new File(directory, "leader-epoch-checkpoint");
        file.deleteOnExit();
        directory.deleteOnExit();
        Class<?> channel = Reflection.type("org.apache.kafka.storage.internals.log.LogDirFailureChannel");
        return Reflection.make(type, file, Reflection.make(channel, 1));
    }

    /** A checkpoint that forgets, a scheduler that does nothing, or a function that returns the log end offset. */
    private static Object substitute(Class<?> type, boolean asMetadata) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
            if (method.getName().startsWith("apply")) {
                return asMetadata ? Reflection.make(Reflection.type("kafka.server.LogOffsetMetadata"), logEndOffset, 0L, 0)
                    : (Object) logEndOffset;
            }
            if (method.getName().equals("read")) {
                return method.getReturnType().isAssignableFrom(List.class) ? Collections.emptyList()
                    : Reflection.get(Class.forName("scala.collection.immutable.Nil$"), "MODULE$");
            }
            return null;
        });
    }
}
